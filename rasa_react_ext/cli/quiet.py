"""Keeps the host's own warnings and logs off the terminal of a command."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Generator
from typing import NoReturn

import click

__all__ = ["host_kept_quiet", "lines_kept_quiet", "prints_kept_quiet"]


@contextlib.contextmanager
def host_kept_quiet() -> Generator[None]:
    """Without the host's warnings and logs while the block runs, unless `--debug` asks for them.

    To be entered before the host is imported: its LLM layer then does not fetch prices, which
    would wait for a network that may be away, and does not read the file .env that is nearest
    to where it is installed, which may be another project's.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    if click.get_current_context().find_object(bool):
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def lines_kept_quiet() -> Generator[None]:
    """Without the lines that the host prints while it reads a project, unless asked for."""
    if click.get_current_context().find_object(bool):
        yield
        return
    import structlog

    def drop(*_: object) -> NoReturn:
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[drop], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


@contextlib.contextmanager
def prints_kept_quiet() -> Generator[None]:
    """Without what the host prints on standard output, unless asked for.

    What is ours is to be written to the stream itself, taken before the block.
    """
    shown = click.get_current_context().find_object(bool)
    with contextlib.nullcontext() if shown else contextlib.redirect_stdout(io.StringIO()):
        yield
