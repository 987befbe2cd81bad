"""One observer that is many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from rasa_react_ext.engine.occurrence import Occurrence
    from rasa_react_ext.engine.port import Observer

__all__ = ["Fan"]

_log = structlog.get_logger()


class Fan:
    """Tells several observers; one that fails is logged and does not disturb the rest.

    The first observer is the one that must not fail: its error ends the turn.
    """

    def __init__(self, first: Observer, others: Sequence[Observer]) -> None:
        self._first = first
        self._others = others

    def on(self, occurrence: Occurrence) -> None:
        """Take note."""
        self._first.on(occurrence)
        for observer in self._others:
            try:
                observer.on(occurrence)
            except Exception as error:  # noqa: BLE001 - watching must not break a turn
                _log.error(
                    "rasa_react_ext.observer.failed",
                    observer=type(observer).__name__,
                    error=f"{type(error).__name__}: {error}",
                    event_info=(
                        f"{type(observer).__name__} could not take note of a step: {error}. "
                        "The turn goes on."
                    ),
                )
