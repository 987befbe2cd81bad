"""`python -m demo.reports`: run the sample's external agent until it is interrupted."""

from __future__ import annotations

from demo.reports.server import running_house
from demo.serve import serve

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C; see `demo.serve` for arguments and exit codes."""
    return serve("demo.reports", __doc__ or "", lambda port: running_house(port=port), arguments)


if __name__ == "__main__":
    raise SystemExit(main())
