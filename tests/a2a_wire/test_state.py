"""Every state in every spelling has an outcome."""

from __future__ import annotations

import pytest
from a2a.compat.v0_3.types import TaskState as OlderState
from a2a.types import TaskState

from rasa_react_ext.a2a_wire import STATES, State, read_state


@pytest.mark.parametrize("number", TaskState.values())
def test_b87_every_state_of_protocol_1_0_is_in_the_table(number: int) -> None:
    name = TaskState.Name(number)
    assert name in STATES
    assert read_state(number) is read_state(name)


@pytest.mark.parametrize("older", list(OlderState))
def test_b87_every_state_of_protocol_0_3_is_in_the_table(older: OlderState) -> None:
    assert older.value in STATES


def test_b87_both_spellings_mean_the_same() -> None:
    assert read_state("input-required") is read_state("TASK_STATE_INPUT_REQUIRED")
    assert read_state("auth-required") is State.AUTH_REQUIRED


@pytest.mark.parametrize("invented", ["TASK_STATE_DREAMING", "dreaming", "", 99])
def test_b87_an_invented_state_is_unknown_and_does_not_count_as_an_end(invented: int | str) -> None:
    state = read_state(invented)
    assert state is State.UNKNOWN
    assert not state.stopped


def test_b87_each_state_either_runs_waits_or_has_ended() -> None:
    ended = {state for state in State if state.ended}
    waits = {state for state in State if state.waits}
    assert ended == {State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED}
    assert waits == {State.INPUT_REQUIRED, State.AUTH_REQUIRED}
    assert {state for state in State if state.stopped} == ended | waits
