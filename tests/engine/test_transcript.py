from __future__ import annotations

from typing import Any

from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.engine.transcript import Transcript

SPOKEN = [{"role": "user", "content": "hi"}]


def step(number: int, model: str = "m") -> Step:
    call = CallRecord(id=f"c{number}", name="look", arguments="{}", result="r")
    return Step(calls=(call,), extra={"signed": number}, model=model)


def signed(messages: list[dict[str, Any]]) -> list[int]:
    return [message["signed"] for message in messages if "signed" in message]


def test_history_is_built_once_as_long_as_nothing_was_said() -> None:
    transcript = Transcript(memory=Memory(), model="m")
    steps: list[Step] = []
    renewed: list[bool] = []
    for number in range(40):
        renewed.append(transcript.renew(SPOKEN))
        assert len(transcript.messages(steps)) == 1 + 2 * number
        steps.append(step(number))
    assert renewed == [True] + [False] * 39
    assert transcript.renew(list(SPOKEN))
    assert len(transcript.messages(steps)) == 81


def test_b33_the_first_request_of_a_turn_goes_to_the_model_of_the_turn_before() -> None:
    memory = Memory().with_turn("hi", (step(1),), {}, limit_bytes=1000)
    transcript = Transcript(memory=memory)
    assert transcript.model == "m"
    transcript.renew([*SPOKEN, {"role": "assistant", "content": "?"}, *SPOKEN])
    assert signed(transcript.messages(())) == [1]


def test_b33_when_another_model_answers_foreign_fields_are_left_out_from_then_on() -> None:
    transcript = Transcript(memory=Memory(), model="m")
    transcript.renew(SPOKEN)
    assert signed(transcript.messages([step(1)])) == [1]
    transcript.model = "other"
    assert transcript.renew(SPOKEN)
    assert signed(transcript.messages([step(1), step(2, "other")])) == [2]


def test_what_was_handed_out_stays_as_it_was() -> None:
    transcript = Transcript(memory=Memory(), model="m")
    transcript.renew(SPOKEN)
    first = transcript.messages(())
    transcript.messages([step(1)])
    assert first == SPOKEN
