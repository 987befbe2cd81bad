"""A turn cancelled at any await leaves a closed history and no task (design D3.10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import CallDone, Outcome, Rules
from rasa_react_ext.engine.driver import TurnResult
from rasa_react_ext.engine.occurrence import CallFinished, Spoke
from rasa_react_ext.engine.slot import SlotSpec
from tests.engine.fake import (
    Conversation,
    Reply,
    Tools,
    Turn,
    after,
    answer,
    away,
    call,
    run,
    tool,
    turn,
)
from tests.engine.shape import refusals


def cancelled_at(played: Turn, seconds: float) -> TurnResult:
    """Cancel the turn after so many seconds; it must end at once."""

    async def main() -> TurnResult:
        with anyio.move_on_after(seconds) as scope:
            return await played.driver.drive()
        assert scope.cancelled_caught
        assert asyncio.get_running_loop().time() == pytest.approx(seconds, abs=0.01)
        return played.driver.stop()

    return run(main())


class SlowChannel(Conversation):
    async def send(self, text: str, kind: str) -> None:
        await anyio.sleep(1)
        self.seen.append(text)


async def slow_hook(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
    await anyio.sleep(1)
    return {"b": "y"}


def long_turn(**more: Any) -> Turn:
    slots = {"set_slot_a": SlotSpec(name="a", type="text")}
    calls = [
        call("look", id="1"),
        call("set_slot_a", {"slot_value": "x"}, id="2"),
        call("book", id="3"),
        call("nope", id="4"),
    ]
    return turn(
        Reply(answer("One moment.", *calls), after=1),
        Reply(away("rate_limit", 1.0), after=1),
        Reply(answer("", call("book", {"q": "2"}, id="1")), after=1),
        Reply(answer("And now?"), after=1),
        rules=Rules(slots=slots, condition=lambda _slots: False),
        tools=Tools([tool("look"), tool("book")], {"look": after(1), "book": after(3)}),
        talk=SlowChannel(built_in=["set_slot_a"], hook=slow_hook),
        **more,
    )


@pytest.mark.parametrize("moment", [0.5 + step for step in range(14)])
def test_d3_10_wherever_a_turn_is_cancelled_its_history_is_closed(moment: float) -> None:
    played = long_turn()
    result = cancelled_at(played, moment)
    assert result.outcome is Outcome.INPUT_REQUIRED
    assert result.text == ""
    assert result.reason == "The turn was cancelled."
    assert played.log.names()[-1] == "RunEnded"
    assert played.tools.running == 0
    if result.run.steps:
        assert result.run.slots_set["a"] == "x"
    messages = [{"role": "user", "content": "Hello"}]
    messages += [message for step in result.run.steps for message in step.messages()]
    assert refusals(messages) == {}
    asked = sum(len(step.calls) for step in result.run.steps)
    assert len(played.log.of(CallFinished)) == asked


def test_d3_10_the_same_turn_left_alone_ends_after_the_last_moment() -> None:
    assert long_turn().play().text == "And now?"


def test_d3_10_a_call_that_ran_has_an_unknown_outcome_and_one_that_waited_did_not_run() -> None:
    tools = Tools([tool("look"), tool("book")], {"look": after(1), "book": after(9)})
    played = turn(
        answer("", call("look"), call("book", id="b"), call("book", {"q": "2"}, id="c")),
        tools=tools,
        max_parallel_tools=2,
    )
    result = cancelled_at(played, 0.5)
    running, also, waiting = (one.result for one in played.log.of(CallFinished))
    assert running.text == also.text == wording.STOPPED_CALL
    assert running.outcome_unknown
    assert waiting.text == wording.NOT_EXECUTED
    assert not waiting.outcome_unknown
    assert [one.result for one in result.run.steps[0].calls][2] == wording.NOT_EXECUTED


def test_d3_10_what_was_answered_before_the_cancellation_is_kept() -> None:
    tools = Tools([tool("look"), tool("book")], {"look": after(1), "book": after(9)})
    played = turn(answer("", call("look"), call("book")), tools=tools)
    cancelled_at(played, 5)
    found, broken_off = (one.result.text for one in played.log.of(CallFinished))
    assert (found, broken_off) == ("found", wording.STOPPED_CALL)


def test_d3_10_results_of_one_batch_are_never_taken_for_the_next() -> None:
    played = turn(
        answer("", call("look", id="1")),
        answer("One moment.", call("book", id="2")),
        talk=SlowChannel(),
    )
    cancelled_at(played, 0.5)
    first, second = played.log.of(CallFinished)
    assert [first.result.text, second.result.text] == ["look: {}", wording.NOT_EXECUTED]
    assert first.duration_ms is not None
    assert second.duration_ms is None


def test_d3_10_what_was_streamed_before_the_cancellation_is_recorded_once() -> None:
    played = turn(
        Reply(answer("Hello you"), after=5, pieces=["Hel", "lo"]),
        talk=Conversation(streaming=True),
    )
    result = cancelled_at(played, 1)
    assert result.text == ""
    assert played.talk.seen == ["Hello~"]
    assert [(one.text, one.kind, one.interrupted) for one in played.log.of(Spoke)] == [
        ("Hello", "filler", True)
    ]


def test_d3_10_a_cancelled_turn_can_end_the_flow() -> None:
    rules = Rules(on_cancel="end", completes="task_completed")
    played = turn(Reply(answer("?"), after=5), rules=rules)
    assert cancelled_at(played, 1).outcome is Outcome.CANCELLED


def test_d3_10_cancellation_is_passed_on() -> None:
    played = turn(Reply(answer("", call("look"), call("book")), after=1))
    played.tools.behaviour["look"] = after(100)

    async def main() -> None:
        task = asyncio.create_task(played.driver.drive())
        await asyncio.sleep(2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert played.driver.stop().outcome is Outcome.INPUT_REQUIRED
