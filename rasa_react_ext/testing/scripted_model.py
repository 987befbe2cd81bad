"""The scripted model server as a process: `python -m rasa_react_ext.testing.scripted_model`.

Prints its URL on the first line and runs until it is interrupted or terminated.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.process import serve_until_signalled
from rasa_react_ext.testing.profile import PROFILES
from rasa_react_ext.testing.server import ModelServer, ScriptedModel

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a script until a signal comes; 2 when the script has a mistake."""
    given = _parser().parse_args(arguments)
    try:
        model = ScriptedModel(
            given.script,
            profile=given.profile,
            keep_requests=given.keep_requests,
            request_log=given.request_log,
        )
        asyncio.run(serve_until_signalled(model.serve(given.port), _announce))
    except (ConfigurationError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rasa_react_ext.testing.scripted_model",
        description="Serve a model script in the OpenAI chat-completions format.",
    )
    parser.add_argument("script", help="YAML file with the rules")
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 takes a free one")
    parser.add_argument(
        "--profile",
        default="lenient",
        help="provider profile: %(choices)s",
        choices=tuple(PROFILES),
    )
    parser.add_argument("--request-log", help="file that gets one JSON line per request")
    parser.add_argument("--keep-requests", type=int, default=1, help="requests kept in memory")
    return parser


def _announce(server: ModelServer) -> None:
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
