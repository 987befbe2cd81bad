"""Ctrl-C where it does not simply end a command: while the host is imported, and during a turn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator
from typing import Any

from rasa_react_ext.cli.failure import ExitCode

__all__ = ["asked_first", "ended_at_once"]


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


@contextlib.contextmanager
def asked_first(stop: Callable[[], object]) -> Generator[None]:
    """Let the first Ctrl-C only ask for an end while the block runs; others do what they did.

    Args:
        stop: Asks for the end; called in the event loop.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    loop, asked = asyncio.get_running_loop(), False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            before(number, frame)
        else:
            asked = True
            loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
