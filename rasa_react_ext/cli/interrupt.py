"""Ctrl-C while the host is imported, which takes seconds and must not be interrupted half-way."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator

from rasa_react_ext.cli.failure import ExitCode

__all__ = ["ended_at_once"]


@contextlib.contextmanager
def ended_at_once() -> Generator[None]:
    """Let Ctrl-C end the process while the block runs; nothing that is to be closed may be open.

    An exception instead may be caught by what is imported, and is printed where it comes in a
    callback. Somebody else's handler is left alone.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitCode.INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
