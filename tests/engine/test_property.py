"""Whatever models, tools, hooks and clocks do, a turn keeps its promises (design D3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rasa_react_ext.engine import history, wording
from rasa_react_ext.engine.decision import CallDone, Outcome, Rules
from rasa_react_ext.engine.driver import TurnResult
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import ModelAnswer, TokenUsage, ToolCall
from rasa_react_ext.engine.occurrence import (
    CallFinished,
    CallStarted,
    ModelAnswered,
    ModelAsked,
    RunEnded,
    SlotSet,
    Spoke,
)
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.text import visible
from rasa_react_ext.engine.tool import ToolResult
from tests.engine.fake import (
    Conversation,
    Reply,
    Tools,
    Turn,
    away,
    bad,
    never,
    ok,
    run,
    tool,
    turn,
)
from tests.engine.shape import refusals

DEADLINE = 60.0
SLOT_TOOLS = {
    "set_slot_a": SlotSpec(name="a", type="text"),
    "set_slot_b": SlotSpec(name="b", type="bool"),
}
TEXTS = st.sampled_from(["", " \n", "\u200b", "Hello.", "One moment.", "a\ud800"])
ARGUMENTS = st.sampled_from(
    [
        None,
        "",
        "{}",
        '{"q": "x"}',
        '{"q": 5}',
        '{"q": "unterminated',
        '{"q": "x",}',
        '{"slot_value": "x"}',
        '{"slot_value": "true"}',
        '{"slot_value": ""}',
        '{"message": "Bye!"}',
        '{"message": " "}',
        "[1]",
        '{"q": NaN}',
        '{"q": "\\ud800"}',
    ]
)
NAMES = st.sampled_from(
    ["look", "book", "look()", "set_slot_a", "set_slot_b", "task_completed", "nope", "über/x", ""]
)
CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["", "c1", "c2", "call_0_0", "old"]),
    name=NAMES,
    arguments=ARGUMENTS,
    extra=st.sampled_from([{}, {"extra_content": {"signed": 1}}]),
)
ANSWERS = st.builds(
    ModelAnswer,
    text=TEXTS,
    calls=st.lists(CALLS, max_size=4).map(tuple),
    finish_reason=st.sampled_from(["stop"] * 6 + ["tool_calls", "length", "content_filter", None]),
    refusal=st.sampled_from([None] * 9 + ["No."]),
    extra=st.sampled_from([{}, {"reasoning_details": [1]}]),
    usage=st.sampled_from([None, TokenUsage(prompt=5, completion=5)]),
    model=st.sampled_from(["m", "m", "other", ""]),
)
GOOD = st.sampled_from(
    [
        ModelAnswer(text="Bye!", calls=(ToolCall(id="d", name="task_completed", arguments="{}"),)),
        ModelAnswer(calls=(ToolCall(id="d", name="task_completed", arguments=None),)),
        ModelAnswer(
            text="Noted.",
            calls=(
                ToolCall(id="e", name="set_slot_a", arguments='{"slot_value": "x"}'),
                ToolCall(id="f", name="set_slot_b", arguments='{"slot_value": "true"}'),
            ),
        ),
        ModelAnswer(
            text="Done, bye!",
            calls=(
                ToolCall(id="g", name="look", arguments='{"q": "x"}'),
                ToolCall(id="h", name="task_completed", arguments='{"message": "Bye!"}'),
            ),
        ),
    ]
)
FAULTS = st.builds(
    away,
    st.sampled_from(["rate_limit", "unavailable", "timeout", "bad_answer", "content_filter"]),
    st.sampled_from([None, 0.0, 3.0, 100.0]),
)
REPLIES = st.builds(
    Reply,
    st.one_of(ANSWERS, ANSWERS, ANSWERS, GOOD, GOOD, FAULTS),
    st.sampled_from([0.0] * 12 + [0.5, 7.0, 100.0]),
)


async def _raising() -> ToolResult:
    raise ValueError("broken")


async def _slow() -> ToolResult:
    await anyio.sleep(3)
    return ok("at last")


DOINGS = st.sampled_from(["found"] * 4 + ["", "error", "raise", "slow", "never"])
RULES = st.builds(
    Rules,
    max_steps=st.integers(1, 6),
    max_tokens=st.sampled_from([None, None, 25]),
    on_limit=st.sampled_from(["ask", "ask", "fail"]),
    on_cancel=st.sampled_from(["wait", "end"]),
    fillers=st.booleans(),
)


def behaviour(doings: Sequence[str]) -> Any:
    waiting = list(doings)

    async def behave(_arguments: Mapping[str, Any]) -> ToolResult:
        doing = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if doing == "raise":
            return await _raising()
        if doing == "slow":
            return await _slow()
        if doing == "never":
            return await never()
        return bad(doing) if doing == "error" else ok(doing)

    return behave


def hook(doing: str) -> Any:
    async def behave(_calls: Sequence[CallDone]) -> Mapping[str, Any]:
        if doing == "never":
            await never()
        return {"b": True} if doing == "slot" else {}

    return behave


def rules_of(rules: Rules, kind: str) -> Rules:
    values: dict[str, Any] = {
        name: getattr(rules, name)
        for name in ("max_steps", "max_tokens", "on_limit", "on_cancel", "fillers")
    }
    if kind == "open":
        return Rules(**values, completes="task_completed")
    return Rules(**values, slots=SLOT_TOOLS, condition=_filled)


def _filled(slots: Mapping[str, Any]) -> bool:
    return slots.get("a") is not None and slots.get("b") is not None


OLD = Memory().with_turn(
    "Hello",
    turn(
        ModelAnswer(calls=(ToolCall(id="old", name="look", arguments="{}"),), model="m"),
        ModelAnswer(text="And?", model="m"),
    )
    .play()
    .run.steps,
    {},
    limit_bytes=9999,
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    replies=st.lists(REPLIES, min_size=1, max_size=6),
    rules=RULES,
    kind=st.sampled_from(["open", "task"]),
    doings=st.lists(DOINGS, min_size=1, max_size=3),
    hooked=st.sampled_from(["nothing", "nothing", "slot", "slot", "never"]),
    streaming=st.booleans(),
    parallel=st.integers(1, 3),
    stop_after=st.sampled_from([None] * 6 + [0.0, 0.3, 2.0, 20.0, 56.0]),
)
def test_d3_2_whatever_happens_a_turn_keeps_its_promises(
    replies: list[Reply],
    rules: Rules,
    kind: str,
    doings: list[str],
    hooked: str,
    streaming: bool,
    parallel: int,
    stop_after: float | None,
) -> None:
    built_in = list(SLOT_TOOLS) if kind == "task" else ["task_completed"]
    played = turn(
        *replies,
        rules=rules_of(rules, kind),
        tools=Tools(
            [tool("look"), tool("book", read_only=True)],
            {"look": behaviour(doings), "book": behaviour(doings)},
        ),
        talk=Conversation(built_in=built_in, streaming=streaming, hook=hook(hooked)),
        memory=OLD,
        slots={"a": None, "b": None},
        deadline=DEADLINE,
        max_parallel_tools=parallel,
    )
    result, seconds = driven(played, stop_after)
    event(f"{kind} {result.outcome.value} {result.reason[:30]}")
    assert seconds <= DEADLINE + 1.01
    assert played.tools.running == 0
    assert played.tools.most <= parallel
    check_calls(played, result)
    check_outcome(played, result)
    check_texts(played)
    check_history(played, result)


def driven(played: Turn, stop_after: float | None) -> tuple[TurnResult, float]:
    async def main() -> tuple[TurnResult, float]:
        result: TurnResult | None = None
        with anyio.move_on_after(stop_after if stop_after is not None else float("inf")):
            result = await played.driver.drive()
        return result or played.driver.stop(), asyncio.get_running_loop().time()

    return run(main())


def check_calls(played: Turn, result: TurnResult) -> None:
    """Every call of an answer that counts is answered once, under an id of its own."""
    asked = [one.closing for one in played.log.of(ModelAsked)]
    finished = played.log.of(CallFinished)
    recorded = [call for step in result.run.steps for call in step.calls]
    assert [one.call.id for one in finished] == [one.id for one in recorded]
    assert [one.result.text for one in finished] == [one.result for one in recorded]
    ids = [one.id for one in recorded]
    assert len({*ids, "old"}) == len(ids) + 1
    ran = [one.call.id for one in played.log.of(CallStarted)]
    assert len(ran) == len(set(ran)) == len(played.tools.calls)
    answers = [one.answer for one in played.log.of(ModelAnswered)]
    counted = [
        answer
        for answer in answers
        if answer.finish_reason != "content_filter"
        and not (answer.refusal and not visible(answer.text))
    ]
    if not any(asked):
        assert sum(len(answer.calls) for answer in counted) == len(recorded)


def check_outcome(played: Turn, result: TurnResult) -> None:
    """Completed only when the rule holds; budgets are kept; slots are reported."""
    run_ = result.run
    assert run_.model_calls <= run_.rules.max_steps + 2
    (ended,) = played.log.of(RunEnded)
    assert played.log.heard[-1] is ended
    assert ended.outcome is result.outcome
    if result.outcome is Outcome.COMPLETED:
        told = [call.result for step in run_.steps for call in step.calls]
        assert _filled(run_.slots) if run_.rules.condition else wording.TASK_ACCEPTED in told
    else:
        assert not _filled(run_.slots) or result.reason
    if result.outcome is not Outcome.INPUT_REQUIRED:
        assert result.text == ""
    for one in played.log.of(SlotSet):
        assert one.name in run_.slots_set
    assert {name: run_.slots[name] for name in run_.slots_set} == run_.slots_set


def check_texts(played: Turn) -> None:
    """Nothing blank is said, and what was recorded is what was seen."""
    spoken = [one.text for one in played.log.of(Spoke)]
    assert all(text == visible(text) != "" for text in spoken)
    assert [_plain(text) for text in spoken] == [_plain(text) for text in played.talk.seen]


def _plain(text: str) -> str:
    return text.rstrip("~").replace("\ud800", "\ufffd").strip()


def check_history(played: Turn, result: TurnResult) -> None:
    """Every request was valid for every provider, and so is what the next turn will send."""
    for request in played.model.requests:
        assert refusals(request.messages, request.tools) == {}
    memory = OLD.with_turn("Hello", result.run.steps, result.run.slots_set, limit_bytes=4000)
    memory = Memory.from_json(memory.to_json(), flow="", step="")
    spoken = [*played.talk.spoken, *({"role": "assistant", "content": s} for s in played.talk.seen)]
    following = history.conversation([*spoken, {"role": "user", "content": "Hello"}], memory, "m")
    assert refusals(following) == {}
