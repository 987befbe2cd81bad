"""`python -m demo.market`: run the sample's MCP server until it is interrupted."""

from __future__ import annotations

import argparse
import sys
import threading

from demo.market.server import running_market

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C and print the URL first.

    Args:
        arguments: Command line without the program's name; by default the process's own.

    Returns:
        Exit code: 0 after an interruption, 1 when the server cannot start.
    """
    parser = argparse.ArgumentParser(prog="python -m demo.market", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="loopback port (default: a free one)")
    port = parser.parse_args(arguments).port
    try:
        with running_market(port=port) as url:
            print(url, flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except (OSError, OverflowError, TimeoutError) as failure:
        print(f"The market server cannot start on port {port}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
