"""The command line that the sample's servers share: print the URL, run until interrupted."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from demo.failure import DemoError
from rasa_react_ext.errors import ExtensionError

__all__ = ["serve"]


def serve(
    name: str,
    about: str,
    running: Callable[[int], AbstractContextManager[str]],
    arguments: list[str] | None,
) -> int:
    """Run a server until Ctrl-C and print its URL first.

    Args:
        name: Module of the command, for its help and its complaints.
        about: What it does, for its help.
        running: Gives the server on a port, as a context manager that yields its URL.
        arguments: Command line without the program's name; None takes the process's own.

    Returns:
        Exit code: 0 after an interruption, 1 when the server cannot start.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("--port", type=int, default=0, help="loopback port (default: a free one)")
    port = parser.parse_args(arguments).port
    try:
        with running(port) as url:
            print(url, flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except (DemoError, ExtensionError, OSError, OverflowError, TimeoutError) as failure:
        print(f"{name} cannot start on port {port}: {failure}", file=sys.stderr)
        return 1
    return 0
