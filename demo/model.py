"""`python -m demo.model`: run the sample's scripted model until it is interrupted.

For the host's own command line without a key; `demo.play` and `demo.chat` start it themselves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from demo.backend import SCRIPTS, scripted_model
from demo.serve import serve

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C; see `demo.serve` for arguments and exit codes."""
    return serve("demo.model", __doc__ or "", _running_model, arguments)


@contextlib.contextmanager
def _running_model(port: int) -> Generator[str, None, None]:
    with scripted_model(SCRIPTS, SCRIPTS / "chat", port=port) as (model, _):
        yield model.url


if __name__ == "__main__":
    raise SystemExit(main())
