"""What a test looks for when a project is refused or warned about."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog
from structlog._config import BoundLoggerLazyProxy
from structlog.testing import LogCapture

from rasa_react_ext.errors import ConfigurationError

__all__ = ["log_of", "logs", "refused"]

Log = MutableMapping[str, Any]


@contextlib.contextmanager
def refused(*, file: str, key: str, says: str) -> Iterator[None]:
    """The block raises a configuration error.

    Args:
        file: Part of the file it names.
        key: Part of the key it names.
        says: Part of the rest, i.e. of problem and fix.
    """
    with pytest.raises(ConfigurationError) as caught:
        yield
    error = caught.value
    assert file in error.file
    assert key in error.key
    assert says in f"{error.problem} {error.fix}"
    assert str(error) == f"{error.file}: {error.key}: {error.problem} {error.fix}"


@contextlib.contextmanager
def logs() -> Iterator[list[Log]]:
    """What is logged in the block, whatever was configured and cached before."""
    before = structlog.get_config()
    capture = LogCapture()
    structlog.configure(
        processors=[capture],
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        cache_logger_on_first_use=False,
    )
    _forget_cached_loggers()
    try:
        yield capture.entries
    finally:
        structlog.configure(**before)


def _forget_cached_loggers() -> None:
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if isinstance(value, BoundLoggerLazyProxy):
                vars(value).pop("bind", None)


def log_of(captured: list[Log], event: str) -> Log:
    """The one log of this event."""
    found = [log for log in captured if log["event"] == event]
    assert len(found) == 1, f"{event}: {len(found)} times"
    return found[0]
