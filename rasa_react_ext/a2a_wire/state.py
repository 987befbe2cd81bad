"""Task states: every spelling of the protocol, and what a client does about each."""

from __future__ import annotations

from enum import StrEnum

from a2a.types import TaskState

__all__ = ["STATES", "State", "read_state"]


class State(StrEnum):
    """A task state, named as protocol 0.3 writes it."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"
    UNKNOWN = "unknown"

    @property
    def ended(self) -> bool:
        """Whether the task takes no further message."""
        return self in _ENDED

    @property
    def stopped(self) -> bool:
        """Whether nothing more comes by itself."""
        return self in _ENDED or self in _PAUSED

    @property
    def waits(self) -> bool:
        """Whether the task waits for the user: it is still open, and takes a reply."""
        return self in _PAUSED


_ENDED = frozenset({State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED})
_PAUSED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})

STATES: dict[str, State] = {
    spelling: state
    for state in State
    for spelling in (state.value, f"TASK_STATE_{state.name}")
    if state is not State.UNKNOWN
} | {"unknown": State.UNKNOWN, "TASK_STATE_UNSPECIFIED": State.UNKNOWN}
"""Every spelling of every state, protocol 0.3 and 1.0."""


def read_state(value: int | str) -> State:
    """The state behind a spelling or a number of protocol 1.0.

    Whatever nobody knows is `UNKNOWN`: the task is asked about again until the deadline.
    """
    if isinstance(value, int):
        try:
            value = TaskState.Name(value)  # pyright: ignore[reportArgumentType]
        except ValueError:
            return State.UNKNOWN
    return STATES.get(value, State.UNKNOWN)
