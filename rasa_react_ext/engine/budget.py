"""Limits of one agent turn, in time and number (design D3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from rasa_react_ext.errors import ModelError

__all__ = ["Budget"]

FIRST_RETRY_SECONDS = 0.5
CLOSING_SHARE = 0.2
CLOSING_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one agent turn.

    Attributes:
        deadline: Monotonic time at which the turn must be over.
        closing_seconds: Part of the time before the deadline that is kept for the
            one closing answer.
        tool_timeout_seconds: Longest time of one tool call.
        max_parallel_tools: Tools that run at once.
        model_retries: Further attempts of one model call.
    """

    deadline: float
    closing_seconds: float = 0.0
    tool_timeout_seconds: float = 10.0
    max_parallel_tools: int = 16
    model_retries: int = 2

    @staticmethod
    def closing_share(seconds: float) -> float:
        """How much of a turn of `seconds` is kept for the closing answer."""
        return min(CLOSING_SECONDS, seconds * CLOSING_SHARE)

    def remaining(self, now: float, *, closing: bool = False) -> float:
        """Seconds left for work or, with `closing`, until the very end."""
        return self.deadline - now - (0.0 if closing else self.closing_seconds)

    def retry_delay(self, error: ModelError, attempt: int) -> float | None:
        """Seconds to wait before the next attempt; None when there is to be none.

        Args:
            error: What went wrong; a delay the provider asked for is respected.
            attempt: Number of the attempt that failed, from 1.
        """
        if not error.retryable or attempt > self.model_retries:
            return None
        if error.retry_after_seconds is not None:
            return max(0.0, error.retry_after_seconds)
        return FIRST_RETRY_SECONDS * 2.0 ** (attempt - 1)
