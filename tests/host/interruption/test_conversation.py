"""Whole conversations that wander: what an agent knows when the user comes back."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter

import pytest

from rasa_react_ext.testing import ModelServer
from tests.engine.shape import refusals
from tests.host.interruption.conversation import QUESTION, talking
from tests.host.interruption.kept import kept
from tests.host.project import Project

pytestmark = pytest.mark.host

YES = "set slot continue_interrupted_flow_confirmation True"
NO = "set slot continue_interrupted_flow_confirmation False"
AWAY = ["start flow hours", "offtopic reply", "disambiguate flows shop hours"]


@pytest.mark.parametrize("command", AWAY, ids=["digression", "chitchat", "clarification"])
async def test_d3_7_an_interrupted_run_is_resumed_with_its_question_and_all_it_has_learnt(
    project: Project, model: ModelServer, done: Counter[str], command: str
) -> None:
    async with talking(project, model) as talk:
        assert await talk.say("start shop", "reserve it") == [QUESTION]
        asked = len(model.requests)
        away = await talk.do(command)
        assert any("shop" in text for text in away), "the host asks whether to continue"
        assert len(model.requests) == asked + 1, "only the command generator was asked"
        kept = await talk.frame()
        assert kept["agent_response"] == QUESTION
        assert await talk.do(YES) == ["What else?"]
        assert talk.heard() == ["reserved lamp"]
        assert QUESTION in talk.asked()[-1]["content"]
        assert QUESTION in talk.asked()[0]["content"], "the prompt quotes it too"
        assert refusals(talk.asked()) == {}
        assert "Come again." in await talk.say("that is all")
        assert await talk.events("agent_resumed")
    assert done["reserve"] == 1


@pytest.mark.parametrize("command", ["cancel flow", NO], ids=["cancelled", "declined"])
async def test_d3_7_a_run_that_was_cancelled_or_declined_leaves_nothing_to_the_next(
    project: Project, model: ModelServer, done: Counter[str], command: str
) -> None:
    async with talking(project, model) as talk:
        await talk.say("start shop", "reserve it")
        if command == NO:
            await talk.do("start flow hours")
        await talk.do(command)
        assert len(await talk.events("agent_cancelled")) == 1
        assert len(await talk.events("flow_cancelled")) == 1
        await talk.say("start shop")
        assert talk.heard() == []
        assert await talk.say("reserve it") == [QUESTION]
    assert done["reserve"] == 2, "a new run may do it again"


async def test_d3_7_a_second_flow_that_calls_the_same_agent_gets_nothing_of_the_first(
    project: Project, model: ModelServer
) -> None:
    async with talking(project, model) as talk:
        await talk.say("start shop", "reserve it")
        assert await talk.do("start flow gift") == ["What else?"]
        assert talk.heard() == []
        assert not any(message.get("tool_calls") for message in talk.asked())
        assert "Come again." in await talk.say("that is all")
        assert await talk.do(YES) == ["What else?"]
        active = [event.flow_id for event in await talk.events("flow_resumed")]
        assert active == ["shop"]
        assert talk.heard() == ["reserved lamp"], "the first run still has its own"


async def test_d3_7_a_corrected_slot_of_an_earlier_step_does_not_cost_the_run_its_memory(
    project: Project, model: ModelServer, done: Counter[str]
) -> None:
    async with talking(project, model) as talk:
        await talk.say("start delivery")
        await talk.do("set slot desk four")
        assert await talk.say("reserve it") == [QUESTION]
        said = await talk.do("set slot desk five")
        assert await talk.slot("desk") == "five"
        assert "What else?" in said
        assert talk.heard() == ["reserved lamp"]
        assert QUESTION in talk.asked()[-1]["content"]
    assert done["reserve"] == 1


async def test_d3_3_a_restarted_agent_begins_anew_and_keeps_what_it_collects_over_turns(
    project: Project, model: ModelServer
) -> None:
    async with talking(project, model) as talk:
        await talk.say("start tailor", "large")
        assert await talk.say("twelve") == ["Is it urgent?"]
        assert await talk.do("restart agent clerk") == ["What else?"]
        assert await talk.slot("size") is None
        assert talk.heard() == []
        marked = [m["content"] for m in talk.asked()[1:] if "Previous run" in str(m["content"])]
        assert marked, "the utterances of the completed run are marked as such"
        assert await talk.say("large") == ["What else?"]
        assert await talk.slot("size") == "L"
        # The host wipes the exit slots again on each turn of a restarted agent.
        said = await talk.say("twelve")
        assert (await talk.slot("size"), await talk.slot("amount")) == ("L", 12.0)
        assert "Is it urgent?" in said
        said = await talk.do("set slot express True")
        assert "Made: L, 12.0." in said


async def test_d3_3_a_value_changed_since_is_not_overwritten_by_what_a_run_remembers(
    project: Project, model: ModelServer
) -> None:
    async with talking(project, model) as talk:
        await talk.say("start tailor", "large", "twelve")
        await talk.do("restart agent clerk")
        await talk.say("large")
        assert await talk.do("start flow resize") == ["Which size?"]
        await talk.do("set slot size XL")
        assert await talk.do(YES) == ["What else?"]
        await talk.say("twelve")
        assert await talk.slot("size") == "XL"


async def test_d3_7_what_is_kept_with_the_conversation_is_capped_and_the_oldest_is_shortened(
    project: Project, model: ModelServer
) -> None:
    capped = project.with_settings(memory_limit_bytes=8000).with_agent(
        module="tests.host.interruption.agent.Wordy"
    )
    reads = {
        "when": {"model": "agents", "user": "/page (?P<page>\\d)/", "last": "user"},
        "answer": {"calls": [{"name": "read_page", "arguments": {"page": "{{ page }}"}}]},
    }
    async with talking(capped, model, reads) as talk:
        await talk.say("start shop")
        sizes = []
        for page in range(6):
            await talk.say(f"page {page}")
            sizes.append(len(json.dumps((await talk.frame())["rasa_react_ext"]["turns"])))
        await talk.say("and now?")
        heard = talk.heard()
    assert max(sizes) <= 8000 + 500, sizes
    assert sizes[-1] > 3000, "the newest is whole"
    assert [len(text) for text in heard] == sorted(len(text) for text in heard)
    assert heard[-1].startswith("page 5")
    assert len(heard[-1]) > 3000 > len(heard[0])


async def test_d3_7_in_a_new_session_a_customer_may_ask_for_the_same_again(
    project: Project, model: ModelServer, done: Counter[str]
) -> None:
    async with talking(kept(project), model) as talk:
        assert await talk.say("start shop", "reserve it") == [QUESTION]
        await talk.say("that is all")
        # What a tracker store shows afterwards is the new session alone.
        await talk.new_session()
        await talk.say("start shop")
        assert [event.tool_name for event in await talk.events("mcp_tool_executed")] == []
        assert await talk.say("reserve it") == [QUESTION]
        assert talk.heard() == ["reserved lamp"]
    assert done["reserve"] == 2


async def test_d3_7_a_conversation_in_memory_ends_with_its_process_and_the_next_may_do_the_same(
    project: Project, model: ModelServer, done: Counter[str]
) -> None:
    for _ in range(2):
        async with talking(project, model) as talk:
            assert await talk.say("start shop", "reserve it") == [QUESTION]
            assert talk.heard() == ["reserved lamp"]
    assert done["reserve"] == 2


async def test_d3_7_a_turn_that_ended_but_was_never_saved_counts_as_lost_for_some_minutes(
    project: Project, model: ModelServer, done: Counter[str]
) -> None:
    async with talking(kept(project), model) as talk:
        await talk.say("start shop", "reserve it")
        _unsave(project)
        await talk.say("reserve it")
        assert "unknown" in talk.heard()[-1]
        _unsave(project)
        _minutes_pass(project)
        await talk.say("reserve it")
    assert done["reserve"] == 2


def _unsave(project: Project) -> None:
    """Take the last turn out of the conversation, as if it had never been saved."""
    with contextlib.closing(sqlite3.connect(project.folder / "conversations.db")) as kept, kept:
        last = "select max(id) from events where type_name = 'user'"
        assert kept.execute(f"delete from events where id >= ({last})").rowcount > 0


def _minutes_pass(project: Project) -> None:
    """Let the notes of calls grow ten minutes older."""
    with contextlib.closing(sqlite3.connect(project.folder / "store.db")) as store, store:
        assert store.execute(
            "update rasa_react_ext_journal set created_at = created_at - 601"
        ).rowcount
