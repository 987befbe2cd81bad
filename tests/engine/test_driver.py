"""A turn with all its fakes: order, parallel tools, tools that come and go (design D3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import CallDone, Outcome, Rules
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.occurrence import (
    CallFinished,
    CallStarted,
    ModelAsked,
    RunEnded,
    RunStarted,
    SlotSet,
    Spoke,
)
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.tool import ToolResult
from tests.engine.fake import (
    Conversation,
    Tools,
    after,
    answer,
    bad,
    call,
    never,
    ok,
    tool,
    turn,
    usage,
)
from tests.engine.shape import refusals


def test_a_turn_is_told_in_the_order_in_which_it_happened() -> None:
    slots = {"set_slot_a": SlotSpec(name="a", type="text")}
    rules = Rules(slots=slots, condition=lambda values: values.get("a") == "never")
    talk = Conversation(built_in=["set_slot_a"])
    played = turn(
        answer("One moment.", call("look"), call("set_slot_a", {"slot_value": "x"})),
        answer("What else?", usage=usage(7)),
        rules=rules,
        talk=talk,
    )
    result = played.play()
    assert played.log.names() == [
        "RunStarted",
        "ModelAsked",
        "ModelAnswered",
        "Spoke",
        "CallStarted",
        "CallFinished",
        "CallFinished",
        "SlotSet",
        "ModelAsked",
        "ModelAnswered",
        "Spoke",
        "RunEnded",
    ]
    assert talk.seen == ["One moment.", "What else?"]
    assert [(one.text, one.kind) for one in played.log.of(Spoke)] == [
        ("One moment.", "filler"),
        ("What else?", "input_required"),
    ]
    assert played.log.of(RunStarted) == [RunStarted(tools=("look", "book"))]
    assert played.log.of(SlotSet) == [SlotSet(name="a", value="x")]
    (ended,) = played.log.of(RunEnded)
    assert (ended.outcome, ended.model_calls, ended.tokens) == (Outcome.INPUT_REQUIRED, 2, 7)
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, "What else?")
    assert result.run.slots_set == {"a": "x"}


def test_a_task_that_is_done_needs_no_model() -> None:
    played = turn(answer("?"), rules=Rules(condition=lambda _slots: True))
    assert played.play().outcome is Outcome.COMPLETED
    assert played.model.requests == []
    assert played.log.names() == ["RunStarted", "RunEnded"]


def test_d3_2_the_calls_of_an_answer_run_at_once_and_are_answered_in_call_order() -> None:
    tools = Tools(
        [tool("slow"), tool("fast"), tool("mid")],
        {"slow": after(3.0), "fast": after(1.0), "mid": after(2.0)},
    )
    played = turn(answer("", call("slow"), call("fast"), call("mid")), answer("ok"), tools=tools)
    played.play()
    finished = played.log.of(CallFinished)
    assert [one.call.name for one in finished] == ["slow", "fast", "mid"]
    assert [one.duration_ms for one in finished] == pytest.approx([3000, 1000, 2000])
    assert {one.batch for one in finished} == {1}
    assert tools.most == 3
    assert played.model.requests[1].timeout_seconds == pytest.approx(60 - 5 - 3)


def test_d3_2_no_more_tools_run_at_once_than_allowed() -> None:
    tools = Tools([tool("look")], {"look": after(1.0)})
    calls = [call("look", {"q": str(n)}, id=str(n)) for n in range(5)]
    played = turn(answer("", *calls), answer("ok"), tools=tools, max_parallel_tools=2)
    played.play()
    assert tools.most == 2
    assert len(played.log.of(CallFinished)) == 5
    assert played.model.requests[1].timeout_seconds == pytest.approx(60 - 5 - 3)


def test_b10_a_source_that_raises_costs_one_call_and_its_siblings_live() -> None:
    async def broken(_arguments: Mapping[str, Any]) -> ToolResult:
        raise ValueError("no such day")

    tools = Tools([tool("a"), tool("b"), tool("c")], {"b": broken, "c": after(5.0)})
    played = turn(answer("", call("a"), call("b"), call("c")), answer("ok"), tools=tools)
    assert played.play().outcome is Outcome.INPUT_REQUIRED
    results = [one.result for one in played.log.of(CallFinished)]
    assert [one.is_error for one in results] == [False, True, False]
    assert results[1].text == "Tool 'b' failed: ValueError: no such day"


def test_d3_1_a_tool_that_takes_too_long_is_given_up_with_an_unknown_outcome() -> None:
    tools = Tools([tool("book"), tool("look", read_only=True)], {"book": never, "look": never})
    played = turn(
        answer("", call("book"), call("look")), answer("ok"), tools=tools, tool_timeout_seconds=3
    )
    played.play()
    booked, looked = (one.result for one in played.log.of(CallFinished))
    assert "no answer within 3 seconds" in booked.text
    assert booked.outcome_unknown
    assert "check before you repeat it" in booked.text
    assert looked.is_error
    assert not looked.outcome_unknown
    assert "unknown" not in looked.text
    assert [context.timeout_seconds for _, _, context in tools.calls] == [3, 3]
    assert tools.running == 0


def test_a_source_that_keeps_time_itself_has_the_last_word() -> None:
    tools = Tools([tool("book")], {"book": after(3.0, bad("connection lost"))})
    played = turn(answer("", call("book")), answer("ok"), tools=tools, tool_timeout_seconds=3)
    played.play()
    assert played.log.of(CallFinished)[0].result.text == "connection lost"


def test_the_source_gets_fitted_arguments_and_the_id_of_the_call() -> None:
    played = turn(answer("", call("look", {"q": "x"}, id="c9")), answer("ok"))
    played.play()
    ((name, arguments, context),) = played.tools.calls
    assert (name, arguments, context.call_id) == ("look", {"q": "x"}, "c9")
    assert context.timeout_seconds == 10.0


def test_b05_only_known_tools_are_run() -> None:
    played = turn(answer("", call("nope"), call("look")), answer("ok"))
    played.play()
    assert [one.call.name for one in played.log.of(CallStarted)] == ["look"]
    finished = played.log.of(CallFinished)
    assert finished[0].duration_ms is None
    assert finished[0].result.is_error


def test_b66_a_tool_removed_between_steps_gives_an_error_and_a_new_one_can_be_called() -> None:
    tools = Tools([tool("a"), tool("c")])
    changed = [tool("b"), replace(tool("c"), parameters={"type": "object", "required": ["x"]})]

    async def change(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
        tools.listed = changed
        return {}

    played = turn(
        answer("", call("a")),
        answer("", call("a"), call("b"), call("c")),
        answer("ok"),
        tools=tools,
        talk=Conversation(hook=change),
    )
    played.play()
    offered = [
        [one["function"]["name"] for one in request.tools] for request in played.model.requests
    ]
    assert offered[0] == ["a", "c", "task_completed"]
    assert offered[1] == ["b", "c", "task_completed"]
    removed, new, other = (one.result for one in played.log.of(CallFinished)[1:])
    assert "There is no tool 'a'. The tools are: b, c" in removed.text
    assert not new.is_error
    assert "'x' is a required property" in other.text


def test_a_tool_that_a_hook_hides_cannot_be_called() -> None:
    class Hiding(Conversation):
        def offered(self, tools: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
            return [one for one in super().offered(tools) if one["function"]["name"] != "book"]

    played = turn(answer("", call("book")), answer("ok"), talk=Hiding())
    played.play()
    assert "There is no tool 'book'" in played.log.of(CallFinished)[0].result.text
    assert played.log.of(RunStarted)[0].tools == ("look",)


def test_b63_the_model_is_told_which_servers_are_missing() -> None:
    tools = Tools([tool("look")], away=["shop: connection refused"])
    played = turn(answer("ok"), tools=tools)
    played.play()
    system = played.model.requests[0].messages[0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be kind.\n\nSome of your tools cannot be reached")
    assert "shop: connection refused" in system["content"]


def test_b31_the_closing_request_lists_the_tools_but_forbids_calls() -> None:
    rules = Rules(max_steps=1, completes="task_completed")
    played = turn(answer("", call("look")), answer("So far."), rules=rules)
    result = played.play()
    first, closing = played.model.requests
    assert first.allow_tools
    assert not closing.allow_tools
    assert closing.tools == first.tools
    assert "steps allowed for one reply is used up" in closing.messages[0]["content"]
    assert "ask how to go on" in closing.messages[0]["content"]
    assert [one.closing is None for one in played.log.of(ModelAsked)] == [True, False]
    assert result.text == "So far."


def test_a_closing_request_of_a_failing_flow_asks_nothing() -> None:
    rules = Rules(max_steps=1, completes="task_completed", on_limit="fail")
    played = turn(answer("", call("look")), answer("So far."), rules=rules)
    assert played.play().outcome is Outcome.FAILED
    assert "ask how to go on" not in played.model.requests[1].messages[0]["content"]


@pytest.mark.parametrize(
    ("answers", "on_limit", "outcome", "kind"),
    [
        ([answer("")] * 8, "ask", Outcome.FAILED, "blank_answers"),
        ([answer("", finish_reason="content_filter")], "ask", Outcome.FAILED, "content_filter"),
        ([answer("", refusal="No.")], "ask", Outcome.FAILED, "content_filter"),
        ([answer("", call("look")), answer("So far.")], "fail", Outcome.FAILED, "steps_limit"),
        ([answer("", call("look")), answer("So far.")], "ask", Outcome.INPUT_REQUIRED, ""),
    ],
)
def test_the_end_of_a_failed_turn_bears_its_class(
    answers: list[ModelAnswer], on_limit: Any, outcome: Outcome, kind: str
) -> None:
    steps = 1 if answers[0].calls else 10
    played = turn(*answers, rules=Rules(max_steps=steps, on_limit=on_limit))
    assert played.play().outcome is outcome
    (ended,) = played.log.of(RunEnded)
    assert ended.kind == kind


def test_b31_a_closing_call_that_is_returned_nevertheless_is_not_run() -> None:
    rules = Rules(max_steps=1, completes="task_completed")
    played = turn(answer("", call("look")), answer("Hm.", call("book")), rules=rules)
    assert played.play().text == "Hm."
    assert [name for name, _, _ in played.tools.calls] == ["look"]


def test_d3_5_the_closing_line_is_asked_for_with_the_hosts_instruction() -> None:
    played = turn(answer("", call("task_completed")), answer("Bye!"))
    assert played.play().outcome is Outcome.COMPLETED
    assert played.model.requests[1].messages[0]["content"] == "Be kind.\n\nSay goodbye."
    assert not played.model.requests[1].allow_tools
    assert played.talk.seen == ["Bye!"]


def test_b31_tool_history_is_told_in_words_where_no_tools_are_left() -> None:
    first = turn(answer("", call("look")), answer("And?"))
    memory = Memory().with_turn("Hello", first.play().run.steps, {}, limit_bytes=9999)
    later = turn(
        answer("ok"), tools=Tools(), memory=memory, rules=Rules(), talk=Conversation(built_in=[])
    )
    later.play()
    (request,) = later.model.requests
    assert request.tools == []
    assert refusals(request.messages, tools=()) == {}
    assert "(I called look with {}.)" in str(request.messages)


def test_b11_earlier_turns_are_sent_again_and_their_ids_are_not_used_again() -> None:
    first = turn(answer("", call("book", id="c1")), answer("And?"))
    memory = Memory().with_turn("Hello", first.play().run.steps, {}, limit_bytes=9999)
    talk = Conversation()
    talk.spoken = [
        *talk.spoken,
        {"role": "assistant", "content": "And?"},
        {"role": "user", "content": "Go on"},
    ]
    later = turn(answer("", call("look", id="c1")), answer("ok"), memory=memory, talk=talk)
    later.play()
    for request in later.model.requests:
        assert refusals(request.messages, request.tools) == {}
    assert "book" in str(later.model.requests[0].messages)
    assert [name for name, _, _ in later.tools.calls] == ["look"]


def test_the_hook_sees_successes_and_the_slots_it_sets_reach_the_next_prompt() -> None:
    async def hook(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
        return {"city": "Rome"}

    talk = Conversation(hook=hook)
    played = turn(answer("", call("look"), call("nope")), answer("ok"), talk=talk)
    result = played.play()
    assert talk.reviewed == [["look"]]
    assert talk.slots == {"city": "Rome"}
    assert result.run.slots_set == {"city": "Rome"}


def test_what_a_hook_raises_ends_the_turn_there() -> None:
    async def hook(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
        raise KeyError("mine")

    played = turn(answer("", call("look")), talk=Conversation(hook=hook))
    with pytest.raises(KeyError, match="mine"):
        played.play()
    assert played.log.names()[-1] == "CallFinished"


def test_b29_an_empty_result_reaches_observer_and_model_in_words() -> None:
    tools = Tools([tool("look")], {"look": after(0, ok(""))})
    played = turn(answer("", call("look")), answer("ok"), tools=tools)
    played.play()
    assert played.log.of(CallFinished)[0].result.text == wording.NO_RESULT
    assert played.model.requests[1].messages[-1]["content"] == wording.NO_RESULT
