"""Consent to destructive tools, through whole conversations that wander."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

from rasa_react_ext.host.mcp.consent import Consent
from rasa_react_ext.host.mcp.words import NO, YES, verdict
from rasa_react_ext.host.settings import AgentSettings, read_settings
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import results
from tests.host.interruption.conversation import DO, Talk, talking
from tests.host.project import COMMANDS, Project
from tests.host.refused import refused
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving

pytestmark = pytest.mark.host

AGENTS = {"model": "agents"}
GO_ON = "set slot continue_interrupted_flow_confirmation True"
ASKS_1 = "Shall I run delete_order (id: 1)? Please answer yes or no."
ASKS_2 = "Shall I run delete_order (id: 2)? Please answer yes or no."


def delete(*ids: int) -> dict[str, Any]:
    return {"calls": [{"name": "delete_order", "arguments": {"id": one}} for one in ids]}


RULES: tuple[Mapping[str, Any], ...] = (
    {"when": {**AGENTS, "user": "delete both", "last": "user"}, "answer": delete(1, 2)},
    {"when": {**AGENTS, "user": "delete it", "last": "user"}, "answer": delete(1)},
    {"when": {**AGENTS, "user": "/[Yy]es/", "last": "user"}, "answer": delete(1)},
    {"when": {**AGENTS, "last": "tool"}, "answer": "Deleted or not, that was it."},
)


@pytest.fixture
def orders(done: Counter[str]) -> Iterator[Served]:
    """A server with a tool that destroys something."""

    def build() -> Any:
        server = FastMCP("orders", log_level="CRITICAL")

        @server.tool(annotations=ToolAnnotations(destructiveHint=True))
        async def delete_order(id: int) -> str:
            """Delete an order for ever."""
            done[f"deleted {id}"] += 1
            return f"deleted {id}"

        return server.streamable_http_app()

    with serving(build) as served:
        yield served


@asynccontextmanager
async def shop(
    project: Project, model: ModelServer, orders: Served, **settings: Any
) -> AsyncIterator[Talk]:
    """A conversation with a clerk who may delete orders."""
    ours = project.having(servers={"store": orders.url}).with_settings(
        **{"confirm": "destructive", **settings}
    )
    async with talking(ours, model, *RULES) as talk:
        yield talk


def teach(talk: Talk, *rules: Mapping[str, Any]) -> None:
    """Let the agent's model go by these rules first, from now on."""
    talk.model.use([{**DO, "answer": "{{ line }}"}, *COMMANDS, *rules, *RULES])


async def test_d5_a_destructive_tool_runs_once_after_yes_and_only_then(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    async with shop(project, model, orders) as talk:
        assert await talk.say("start shop", "delete it") == [ASKS_1]
        assert done["deleted 1"] == 0
        assert (await talk.frame())["agent_response"] == ASKS_1
        assert await talk.say("Yes, please!") == ["Deleted or not, that was it."]
        assert done["deleted 1"] == 1
        assert "now agreed" in talk.heard()[0], "the call that waited says what became of it"
        assert talk.heard()[1:] == ["deleted 1"]
        assert await talk.say("yes") == [ASKS_1], "one yes is for one call"
        assert done["deleted 1"] == 1
        executed = await talk.events("mcp_tool_executed")
        assert [event.is_error for event in executed] == [True, False, True]


async def test_d5_after_no_it_is_not_run_the_model_is_told_and_cannot_insist(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    insists = {"when": {**AGENTS, "last": "user"}, "answer": delete(1)}
    async with shop(project, model, orders) as talk:
        await talk.say("start shop", "delete it")
        teach(talk, insists)
        assert await talk.say("No!") == ["Deleted or not, that was it."]
        assert all("did not agree" in told for told in talk.heard())
        assert len(talk.heard()) == 2
    assert done["deleted 1"] == 0


@pytest.mark.parametrize("words", ["what about the weather?", "yes, but tomorrow", "..."])
async def test_d5_another_topic_is_no_consent_and_the_model_is_told(
    project: Project, model: ModelServer, orders: Served, done: Counter[str], words: str
) -> None:
    quiet = {"when": {**AGENTS, "user": words, "last": "user"}, "answer": "As you like."}
    async with shop(project, model, orders) as talk:
        await talk.say("start shop", "delete it")
        teach(talk, quiet)
        assert await talk.say(words) == ["As you like."]
        assert "did not give it" in talk.heard()[0]
        assert await talk.say("yes") == [ASKS_1], "a late yes is asked about again"
    assert done["deleted 1"] == 0


async def test_d5_a_second_call_waits_until_the_first_is_settled(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    both = {"when": {**AGENTS, "user": "/^yes$/", "last": "user"}, "answer": delete(1, 2)}
    async with shop(project, model, orders) as talk:
        assert await talk.say("start shop", "delete both") == [ASKS_1]
        teach(talk, both)
        assert await talk.say("yes") == [ASKS_2]
        assert (done["deleted 1"], done["deleted 2"]) == (1, 0)
        two = {**both, "answer": delete(2)}
        teach(talk, two)
        await talk.say("yes")
    assert (done["deleted 1"], done["deleted 2"]) == (1, 1)


async def test_d5_after_a_digression_the_user_is_asked_anew(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    async with shop(project, model, orders) as talk:
        await talk.say("start shop", "delete it")
        away = await talk.do("start flow hours")
        assert "We are open all day." in away
        again = {"when": {**AGENTS, "last": "user"}, "answer": delete(1)}
        teach(talk, again)
        assert await talk.do(GO_ON) == [ASKS_1]
        assert "went elsewhere" in talk.heard()[0]
        assert done["deleted 1"] == 0, "the yes to going on is no yes to the call"
        await talk.say("yes")
    assert done["deleted 1"] == 1


async def test_d5_consent_works_without_memory_of_calls(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    async with shop(project, model, orders, memory="off") as talk:
        assert await talk.say("start shop", "delete it") == [ASKS_1]
        kept = (await talk.frame())["rasa_react_ext"]
        assert kept.keys() == {"flow", "step", "notes"}
        assert kept["notes"]["consent"].keys() == {"pending", "call_id"}
        await talk.say("yes")
    assert done["deleted 1"] == 1


async def test_d5_words_and_question_are_the_projects(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    german = {
        "confirm_question": "Soll ich {tool} ausführen ({arguments})?",
        "confirm_yes": ["ja", "ja, bitte"],
        "confirm_no": ["nein"],
    }
    async with shop(project, model, orders, **german) as talk:
        asked = await talk.say("start shop", "delete it")
        assert asked == ["Soll ich delete_order ausführen (id: 1)?"]
        ja = {"when": {**AGENTS, "user": "Ja", "last": "user"}, "answer": delete(1)}
        teach(talk, ja)
        await talk.say("Ja, bitte.")
    assert done["deleted 1"] == 1


async def test_d5_it_is_off_unless_wanted(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    async with shop(project, model, orders, confirm="off") as talk:
        await talk.say("start shop", "delete it")
    assert done["deleted 1"] == 1


async def test_d5_silence_is_no_consent(
    project: Project, model: ModelServer, orders: Served, done: Counter[str]
) -> None:
    model.use(RULES)
    ours = project.having(servers={"store": orders.url})
    async with agent_at_work(ours, settings={"confirm": "destructive"}) as agent:
        first = await take_turn(agent, agent_input("delete it"))
        assert first.response_message == ASKS_1
        second = await take_turn(agent, agent_input("", **(first.metadata or {})))
        assert second.response_message == "Deleted or not, that was it."
        assert "did not give it" in results(model)[0]
    assert done["deleted 1"] == 0


def test_d5_a_question_that_was_never_put_is_not_remembered() -> None:
    consent = Consent(AgentSettings(confirm="destructive"), {}, "hello", resumed=False)
    assert consent.to_json("The time was up.") == {}
    assert consent.answered is None


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "Yes.",
        "YES!!",
        " yes  please ",
        "OK, go ahead",
        "Sure, do it!",
        "\uff59\uff45\uff53",
        "yes yes",
    ],
)
def test_d5_yes_is_a_message_of_nothing_but_words_for_yes(text: str) -> None:
    assert verdict(text, YES, NO) == "yes"


@pytest.mark.parametrize(
    "text", ["no", "No, thanks.", "don't do it", "Don\u2019t!", "stop", "nope no"]
)
def test_d5_no_is_a_message_of_nothing_but_words_for_no(text: str) -> None:
    assert verdict(text, YES, NO) == "no"


@pytest.mark.parametrize(
    "text", ["", "yes no", "yesterday", "yes and delete the rest", "is that okay?", "yes " * 50]
)
def test_d5_everything_else_is_neither(text: str) -> None:
    assert verdict(text, YES, NO) == "other"


def test_d5_words_of_other_scripts_count() -> None:
    assert verdict("はい。", ["はい"], ["いいえ"]) == "yes"
    assert verdict("👍", ["👍"], ["👎"]) == "yes"
    assert verdict("...", ["?!"], ["!"]) == "other", "a phrase without words means nothing"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"confirm_question": "Shall I?"}, "{tool} and {arguments} must stand in it"),
        ({"confirm_question": "Shall I {tool}?"}, "{arguments} must stand in it"),
        ({"confirm_yes": []}, "at least one"),
        ({"confirm": "always"}, "one of destructive, off"),
    ],
)
def test_d5_a_wrong_setting_is_refused(entry: dict[str, Any], says: str) -> None:
    with refused(file="config.yml", key=next(iter(entry)), says=says):
        read_settings(entry, None)
