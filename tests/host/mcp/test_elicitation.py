"""Servers that ask the user in the middle of a call, through whole conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from rasa_react_ext.host import process
from rasa_react_ext.testing import ModelServer
from tests.engine.shape import refusals
from tests.host.interruption.kept import kept
from tests.host.mcp.booking import ASKS, GO_ON, booking, calls, clerk
from tests.host.project import Project
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.steps import until

pytestmark = pytest.mark.host


@pytest.fixture
def served(done: Counter[str]) -> Iterator[Served]:
    with serving(lambda: booking(done).streamable_http_app()) as running:
        yield running


async def test_d4_1_a_question_of_a_server_ends_the_turn_and_the_next_message_answers_it(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        asked = len(model.requests)
        assert await talk.say("call book") == [ASKS]
        assert (await talk.frame())["agent_response"] == ASKS
        assert len(process.current().open_calls) == 1
        assert done["booked"] == 0
        assert await talk.say("12A") == ["I have heard of it."]
        assert done["booked"] == 1
        (told,) = talk.heard()
        assert told == (
            f"[book asked the user '{ASKS}'; the user's answer has been given to it.]\n"
            "booked seat '12A'"
        )
        assert refusals(talk.asked()) == {}
        assert len(model.requests) - asked == 4, "the model is not asked about the question"
        assert len(process.current().open_calls) == 0
        executed = await talk.events("mcp_tool_executed")
        assert [(e.is_error, e.result) for e in executed] == [
            (True, None),
            (False, "booked seat '12A'"),
        ]
        assert len({e.metadata["tool_call_id"] for e in executed}) == 1
        assert await talk.say("thanks") == ["I have heard of it."]
        assert talk.heard() == [told], "what was heard is remembered"


async def test_d4_1_a_server_is_declined_by_default_and_the_model_is_told_why(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served, elicitation="decline") as talk:
        assert await talk.say("call book") == ["That was the tool."]
        assert "Declined by the client: nobody can be asked." in talk.heard()[0]
    assert done["booked"] == 0


async def test_d4_1_a_user_who_refuses_declines(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        await talk.say("call book")
        assert await talk.say("No, thanks!") == ["I have heard of it."]
        assert "the user declined to answer" in talk.heard()[0]
        assert talk.heard()[0].endswith("not booked: decline")
    assert done["booked"] == 0


async def test_d4_1_words_that_do_not_fit_are_asked_about_again_and_then_given_up(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        assert await talk.say("call reserve_table") == ["How many guests?"]
        (again,) = await talk.say("many")
        assert again.startswith("Sorry, that does not fit. Please answer with a whole number")
        assert '"cancel"' in again
        (again,) = await talk.say("40")
        assert "It must be 8 or less." in again
        assert await talk.say("4") == ["I have heard of it."]
        assert talk.heard()[0].endswith("booked guests 4")
        await talk.say("call reserve_table", "few", "some")
        assert await talk.say("lots") == ["I have heard of it."]
        assert "the user's answers did not fit" in talk.heard()[-1]
        assert talk.heard()[-1].endswith("not booked: cancel")
    assert done["booked"] == 1


async def test_d4_1_several_fields_are_asked_for_one_by_one(
    project: Project, model: ModelServer, served: Served
) -> None:
    async with clerk(project, model, served) as talk:
        assert await talk.say("call book_trip") == [
            "A few details, please.\nTravel Class? Please choose one: first class, second class."
        ]
        assert await talk.say("Second class!") == ["At the window? Please answer yes or no."]
        assert await talk.say("yes") == ["Weight: the weight of your luggage in kg?"]
        assert await talk.say("12,5") == ['Any remark? (You can say "skip".)']
        assert await talk.say("skip") == ["I have heard of it."]
        assert talk.heard()[0].endswith(
            "booked travel_class 'second class', window True, weight 12.5"
        )


async def test_d4_1_a_call_may_ask_more_than_once(
    project: Project, model: ModelServer, served: Served
) -> None:
    async with clerk(project, model, served) as talk:
        assert await talk.say("call book_twice") == ["Which seat there?"]
        assert await talk.say("1A") == ["Which seat back?"]
        await talk.say("2B")
        assert talk.heard()[0].endswith("booked seat '1A'; booked seat '2B'")


async def test_d4_1_a_page_is_shown_with_its_whole_address(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        (asked,) = await talk.say("call pay")
        assert asked == "Pay here:\nhttps://pay.example/7\nPlease answer yes or no."
        await talk.say("yes")
        assert talk.heard()[0].endswith("paying: accept")
    assert done["paid"] == 1


async def test_d4_1_two_calls_that_ask_at_once_are_answered_one_after_the_other(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        assert await talk.say("both") == [ASKS]
        (asked,) = await talk.say("12A")
        assert asked.startswith("Pay here:")
        assert (done["booked"], done["paid"]) == (1, 0), "one answer is for one question"
        await talk.say("yes")
        assert [told.partition("\n")[2] for told in talk.heard()] == [
            "booked seat '12A'",
            "paying: accept",
        ]


async def test_d4_1_a_question_that_nobody_answers_expires_and_the_model_is_told(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served, elicitation_wait_seconds=0.2) as talk:
        await talk.say("call book")
        (call,) = process.current().open_calls.calls
        await until(lambda: call.ended_at is not None)
        assert await talk.say("12A") == ["I have heard of it."]
        assert "no answer came within 0.2 seconds" in talk.heard()[0]
        assert talk.heard()[0].endswith("not booked: cancel")
        assert len(process.current().open_calls) == 0
    assert done["booked"] == 0


async def test_d4_1_after_a_digression_the_question_is_put_again_and_answered(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        await talk.say("call book")
        assert "We are open all day." in await talk.do("start flow hours")
        assert await talk.do(GO_ON) == [ASKS], "the yes to going on is no answer"
        assert await talk.say("12A") == ["I have heard of it."]
        assert talk.heard()[0].endswith("booked seat '12A'")
    assert (done["asked"], done["booked"]) == (1, 1)


async def test_d4_1_who_comes_back_too_late_is_not_asked_again_and_the_model_is_told(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served, elicitation_wait_seconds=0.3) as talk:
        await talk.say("call book")
        (call,) = process.current().open_calls.calls
        await talk.do("start flow hours")
        await until(lambda: call.ended_at is not None)
        assert await talk.do(GO_ON) == ["I have heard of it."]
        assert "no answer came within 0.3 seconds" in talk.heard()[0]
    assert done["booked"] == 0


async def test_d4_1_a_flow_that_is_cancelled_calls_the_tool_off(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        await talk.say("call book")
        await talk.do("cancel flow")
        assert len(process.current().open_calls) == 0
        await until(lambda: done["called off"] == 1)
        await talk.say("start shop")
        assert talk.heard() == []
    assert done["booked"] == 0


async def test_d4_1_a_second_flow_with_the_same_agent_leaves_the_first_ones_call_open(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    ends = {
        "when": {"model": "agents", "user": "that is all", "last": "user"},
        "answer": {"text": "Good day.", "calls": [{"name": "task_completed"}]},
    }
    async with clerk(project, model, served, rules=[ends]) as talk:
        await talk.say("call book")
        await talk.do("start flow gift")
        await talk.say("that is all")
        assert await talk.do(GO_ON) == [ASKS]
        await talk.say("12A")
    assert done["booked"] == 1


@pytest.mark.parametrize("memory", ["on", "off"])
async def test_d4_1_after_a_restart_the_outcome_is_unknown_and_the_model_is_told(
    project: Project, model: ModelServer, served: Served, done: Counter[str], memory: str
) -> None:
    async with clerk(kept(project), model, served, memory=memory) as talk:
        assert await talk.say("call book") == [ASKS]
    async with clerk(kept(project), model, served, memory=memory, begins=False) as talk:
        assert await talk.say("12A") == ["I have heard of it."]
        (told,) = talk.heard()
        assert "waited for the user's answer and was lost" in told
        assert "The outcome is unknown" in told
        assert refusals(talk.asked()) == {}
        *_, lost = await talk.events("mcp_tool_executed")
        assert (lost.tool_name, lost.is_error) == ("book", True)
        assert await talk.say("thanks") == ["I have heard of it."]
        assert len(talk.heard()) == (memory == "on"), "it is told once, and remembered"
    assert done["booked"] == 0


async def test_d4_1_without_memory_of_calls_the_model_hears_the_result_all_the_same(
    project: Project, model: ModelServer, served: Served
) -> None:
    async with clerk(project, model, served, memory="off") as talk:
        assert await talk.say("call book") == [ASKS]
        kept = (await talk.frame())["rasa_react_ext"]
        assert "arguments" not in str(kept)
        await talk.say("12A")
        assert talk.heard()[0].endswith("booked seat '12A'")
        assert refusals(talk.asked()) == {}


async def test_d4_1_a_call_is_lost_when_its_server_dies_while_the_user_thinks(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        await talk.say("call book")
        (call,) = process.current().open_calls.calls
        served.restart()
        await until(lambda: call.ended_at is not None)
        await talk.say("12A")
        assert "The outcome is unknown" in talk.heard()[0]
    assert done["booked"] == 0


async def test_d4_1_open_calls_end_when_the_agents_are_disconnected(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    async with clerk(project, model, served) as talk:
        await talk.say("call book")
        (call,) = process.current().open_calls.calls
    assert call.ended_at is not None
    await until(lambda: done["called off"] == 1)


async def test_d4_1_consent_comes_first_and_the_servers_question_second(
    project: Project, model: ModelServer, served: Served, done: Counter[str]
) -> None:
    agreed = {
        "when": {"model": "agents", "user": "/^yes$/", "last": "user"},
        "answer": calls("rebook"),
    }
    async with clerk(project, model, served, confirm="destructive", rules=[agreed]) as talk:
        (asked,) = await talk.say("call rebook")
        assert asked.startswith("Shall I run rebook")
        assert done["asked"] == 0
        assert await talk.say("yes") == [ASKS]
        assert await talk.say("12A") == ["I have heard of it."]
        assert talk.heard()[-1].endswith("booked seat '12A'")
    assert done["booked"] == 1


async def test_d4_1_a_long_result_of_a_call_that_asked_is_cut_and_can_be_read_on(
    project: Project, model: ModelServer, served: Served
) -> None:
    async with clerk(project, model, served, result_limit_chars=1000) as talk:
        await talk.say("call list_seats", "3")
        (told,) = talk.heard()
        assert len(told) < 1500
        assert "read_result" in told
        offered = [tool["function"]["name"] for tool in talk.model.requests[-1].body["tools"]]
        assert "read_result" in offered
