"""Deadlines and retries of a turn (design D3.1, D3.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import CallDone, Outcome, Rules
from rasa_react_ext.engine.driver import TurnResult
from rasa_react_ext.engine.occurrence import CallFinished, CallStarted, ModelFailed, Spoke
from tests.engine.fake import (
    Conversation,
    Reply,
    Tools,
    Turn,
    after,
    answer,
    away,
    call,
    never,
    run,
    tool,
    turn,
)


def timed(played: Turn) -> tuple[TurnResult, float]:
    """The result, and the seconds the turn took."""

    async def main() -> tuple[TurnResult, float]:
        result = await played.driver.drive()
        return result, asyncio.get_running_loop().time()

    return run(main())


def failures(played: Turn) -> list[float | None]:
    return [one.retry_in_seconds for one in played.log.of(ModelFailed)]


def test_d3_6_a_model_that_comes_back_is_asked_again_and_no_tool_runs_twice() -> None:
    played = turn(
        answer("", call("book")), away("rate_limit", 2.0), away("bad_answer"), answer("Booked?")
    )
    result, seconds = timed(played)
    assert result.outcome is Outcome.INPUT_REQUIRED
    assert failures(played) == [2.0, 1.0]
    assert seconds == pytest.approx(3.0)
    assert len(played.tools.calls) == 1


def test_d3_6_a_model_that_stays_away_is_a_failure_with_everything_so_far() -> None:
    played = turn(answer("", call("book")), away())
    result, _ = timed(played)
    assert (result.outcome, result.reason) == (Outcome.FAILED, "It broke.")
    assert failures(played) == [0.5, 1.0, None]
    assert len(result.run.steps) == 1
    assert played.talk.seen == []


def test_d3_6_no_retry_is_waited_for_that_would_come_too_late() -> None:
    played = turn(away("rate_limit", 100.0))
    result, seconds = timed(played)
    assert result.outcome is Outcome.FAILED
    assert failures(played) == [None]
    assert seconds == 0


@pytest.mark.parametrize("kind", ["content_filter", "context_length", "refused_request"])
def test_b34_a_refused_request_is_a_failure_at_once_and_nothing_is_said(kind: str) -> None:
    played = turn(away(kind))
    result, _ = timed(played)
    assert result.outcome is Outcome.FAILED
    assert failures(played) == [None]
    assert played.log.of(Spoke) == []


def test_d3_1_a_slow_model_leaves_time_for_a_closing_answer() -> None:
    played = turn(Reply(answer("late"), after=100), Reply(answer("So far so good."), after=2))
    result, seconds = timed(played)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, "So far so good.")
    assert result.reason == "Budget exhausted: time."
    assert seconds == pytest.approx(57.0)
    assert [one.timeout_seconds for one in played.model.requests] == [55.0, 5.0]
    assert played.log.of(ModelFailed)[0].kind == "timeout"


def test_d3_1_a_timeout_reported_by_the_model_counts_the_same() -> None:
    played = turn(Reply(away("timeout"), after=54.9), answer("So far so good."))
    result, _ = timed(played)
    assert result.text == "So far so good."


def test_d3_1_the_last_attempt_of_a_model_may_run_out_of_time_too() -> None:
    played = turn(away(), away(), Reply(answer("late"), after=100), answer("So far so good."))
    result, seconds = timed(played)
    assert result.text == "So far so good."
    assert failures(played) == [0.5, 1.0, None]
    assert seconds < 60


def test_d3_6_a_model_with_a_short_timeout_of_its_own_is_tried_again_and_then_fails() -> None:
    played = turn(Reply(away("timeout"), after=7.0))
    played.model.replies *= 3
    result, seconds = timed(played)
    assert result.outcome is Outcome.FAILED
    assert failures(played) == [0.5, 1.0, None]
    assert seconds < 60


def test_d3_1_when_the_closing_answer_is_late_too_a_fixed_text_ends_the_turn_in_time() -> None:
    played = turn(Reply(answer("late"), after=100))
    played.model.replies *= 2
    result, seconds = timed(played)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, wording.LIMIT_REPLY)
    assert played.talk.seen == [wording.LIMIT_REPLY]
    assert seconds == pytest.approx(60.0)


def test_d3_1_a_turn_that_starts_too_late_asks_no_model() -> None:
    played = turn(answer("?"), deadline=0.0)
    result, seconds = timed(played)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, wording.LIMIT_REPLY)
    assert played.model.requests == []
    assert seconds < 1.1


def test_d3_1_a_turn_that_starts_late_still_closes_in_words() -> None:
    played = turn(answer("Not now."), deadline=4.0)
    result, _ = timed(played)
    assert result.text == "Not now."
    assert not played.model.requests[0].allow_tools


def test_d3_1_a_tool_gets_no_more_time_than_the_turn_has() -> None:
    tools = Tools([tool("look"), tool("book")], {"look": never, "book": never})
    calls = [call("look"), call("book")]
    played = turn(
        Reply(answer("", *calls), after=50), answer("Later?"), tools=tools, max_parallel_tools=1
    )
    result, seconds = timed(played)
    assert result.text == "Later?"
    assert seconds < 60
    first, second = (one.result for one in played.log.of(CallFinished))
    assert "within 5 seconds" in first.text
    assert second.text == wording.NOT_EXECUTED
    assert not second.outcome_unknown
    assert [one.call.name for one in played.log.of(CallStarted)] == ["look"]


def test_d3_3_a_task_whose_conditions_hold_completes_also_when_time_is_up() -> None:
    async def hook(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
        return {"done": True}

    played = turn(
        Reply(answer("", call("look")), after=50),
        tools=Tools([tool("look")], {"look": after(4.95)}),
        talk=Conversation(hook=hook),
        rules=Rules(condition=lambda slots: "done" in slots),
    )
    result, _ = timed(played)
    assert result.outcome is Outcome.COMPLETED


def test_d3_1_a_hook_that_never_returns_is_cut_at_the_deadline() -> None:
    played = turn(answer("", call("look")), talk=Conversation(hook=never))
    result, seconds = timed(played)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, wording.LIMIT_REPLY)
    assert seconds == pytest.approx(60.0)
    assert len(result.run.steps) == 1
    assert played.talk.seen == [wording.LIMIT_REPLY]


def test_d3_1_a_channel_that_never_returns_is_cut_at_the_deadline() -> None:
    class Stuck(Conversation):
        async def send(self, text: str, kind: str) -> None:
            await never()

    played = turn(answer("One moment.", call("look")), talk=Stuck())
    result, seconds = timed(played)
    assert result.outcome is Outcome.INPUT_REQUIRED
    assert seconds == pytest.approx(61.0)
    assert played.log.of(Spoke) == []
    assert [one.result.text for one in played.log.of(CallFinished)] == [wording.NOT_EXECUTED]


def test_d3_5_a_completion_that_was_decided_stands_when_its_last_words_hang() -> None:
    class Stuck(Conversation):
        async def send(self, text: str, kind: str) -> None:
            await never()

    played = turn(answer("Bye!", call("task_completed")), talk=Stuck())
    result, seconds = timed(played)
    assert result.outcome is Outcome.COMPLETED
    assert seconds == pytest.approx(60.0)
    assert played.log.names()[-1] == "RunEnded"


def test_d3_1_a_source_that_never_lists_its_tools_is_cut_at_the_deadline() -> None:
    class Stuck(Tools):
        async def tools(self) -> Any:
            await never()

    played = turn(answer("?"), tools=Stuck())
    result, seconds = timed(played)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, wording.LIMIT_REPLY)
    assert seconds == pytest.approx(60.0)


def test_what_was_shown_before_the_deadline_cut_the_turn_is_recorded() -> None:
    class Stuck(Conversation):
        def stream(self) -> Any:
            stream = super().stream()
            assert stream is not None
            stream.close = never  # type: ignore[method-assign]
            return stream

    played = turn(Reply(answer("Hello"), pieces=["Hello"]), talk=Stuck(streaming=True))
    timed(played)
    spoke = [(one.text, one.interrupted) for one in played.log.of(Spoke)]
    assert spoke == [("Hello", True), (wording.LIMIT_REPLY, False)]
