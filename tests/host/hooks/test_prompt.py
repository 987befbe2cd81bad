"""Hooks and attributes that make the prompt and the messages."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentInput
from rasa.shared.core.events import BotUttered, SlotSet, UserUttered

from tests.host.hooks.play import AtWork, Script, calling, then
from tests.host.project import Project
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

LOOKS = (calling("look_up", item="lamp"), then("On B4."))


class Rendering(MCPOpenAgent):
    """Adds to the rendered prompt, and sets a slot so that it changes."""

    def render_prompt_template(self, context: AgentInput) -> str:
        desk = next(one.value for one in context.slots if one.name == "desk")
        return f"{super().render_prompt_template(context)}\nThe desk is {desk}."

    async def process_tool_output(self, *given: Any, **more: Any) -> Any:
        return [SlotSet("desk", "four")]


class Unrendered(MCPOpenAgent):
    """Cannot render."""

    def render_prompt_template(self, context: AgentInput) -> str:
        raise OSError("no template")


class Messages(MCPOpenAgent):
    """Asks for fewer utterances and adds a second system message."""

    def build_messages_for_llm_request(
        self, context: AgentInput, turns: int = 10
    ) -> list[dict[str, Any]]:
        messages = super().build_messages_for_llm_request(context, turns=1)
        return [*messages, {"role": "system", "content": f"{turns} were allowed."}]


class Speechless(MCPOpenAgent):
    """Cannot build messages."""

    def build_messages_for_llm_request(
        self, context: AgentInput, turns: int = 10
    ) -> list[dict[str, Any]]:
        raise IndexError("nothing said")


class Context(MCPOpenAgent):
    """Gives the template a variable of its own."""

    def _build_context_for_prompt(self, context: AgentInput) -> dict[str, Any]:
        return {**super()._build_context_for_prompt(context), "season": "spring"}


class Contextless(MCPOpenAgent):
    """Cannot give the template anything."""

    def _build_context_for_prompt(self, context: AgentInput) -> dict[str, Any]:
        raise LookupError("no season")


class Fresh(MCPOpenAgent):
    """Its prompt depends on something that is not in the input."""

    numbers = count(1)

    def _build_system_prompt_cache_key(self, context: AgentInput) -> str | None:
        return None

    def _build_context_for_prompt(self, context: AgentInput) -> dict[str, Any]:
        return {**super()._build_context_for_prompt(context), "number": next(Fresh.numbers)}


class Template(MCPOpenAgent):
    """Sets its template after the constructor."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prompt_template = "You are {{ description }}, {{ slots.desk }}."


async def test_render_prompt_template_makes_the_system_message_again_when_slots_change(
    at_work: AtWork, script: Script
) -> None:
    model = script(*LOOKS)
    async with at_work(Rendering) as agent:
        await take_turn(agent, agent_input(slots=[slot("desk", "two")]))
    first, second = (model.messages(number)[0]["content"] for number in range(2))
    assert first.endswith("\nThe desk is two.")
    assert "Serves in the shop." in first, "the default template is before it"
    assert second.endswith("\nThe desk is four.")


async def test_build_messages_for_llm_request_keeps_tool_calls_and_one_system_message(
    at_work: AtWork, script: Script
) -> None:
    model = script(*LOOKS)
    given = agent_input("a lamp", events=[UserUttered("hello"), BotUttered("What is it?")])
    async with at_work(Messages) as agent:
        await take_turn(agent, given)
    roles = [message["role"] for message in model.messages()]
    assert roles == ["system", "user", "assistant", "tool"]
    assert model.messages()[0]["content"].endswith("10 were allowed.")
    assert model.messages()[1]["content"] == "a lamp"


@pytest.mark.parametrize("user_class", [Unrendered, Contextless])
async def test_render_prompt_template_that_raises_fails_the_turn(
    at_work: AtWork, script: Script, user_class: type
) -> None:
    await _fails_unasked(at_work(user_class), script)


async def test_build_messages_for_llm_request_that_raises_fails_the_turn(
    at_work: AtWork, script: Script
) -> None:
    await _fails_unasked(at_work(Speechless), script)


async def test_build_context_for_prompt_gives_the_template_its_variables(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "Hello."})
    (project.folder / "p.jinja2").write_text("{{ season }}: {{ slots.desk }}", encoding="utf-8")
    async with at_work(Context, prompt_template="p.jinja2") as agent:
        await take_turn(agent, agent_input(slots=[slot("desk", "two")]))
    assert model.messages()[0]["content"] == "spring: two"


async def test_build_system_prompt_cache_key_of_none_makes_the_prompt_fresh_at_every_step(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script(*LOOKS)
    (project.folder / "p.jinja2").write_text("Number {{ number }}", encoding="utf-8")
    async with at_work(Fresh, prompt_template="p.jinja2") as agent:
        await take_turn(agent, agent_input())
    first, second = (model.messages(number)[0]["content"] for number in range(2))
    assert first != second


async def test_prompt_template_set_in_the_constructor_is_rendered(
    at_work: AtWork, script: Script
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "Hello."})
    async with at_work(Template) as agent:
        await take_turn(agent, agent_input(slots=[slot("desk", "two")]))
    assert model.messages()[0]["content"] == "You are Serves in the shop., two."


async def _fails_unasked(working: AbstractAsyncContextManager[Any], script: Script) -> None:
    model = script({"when": {"model": "agents"}, "answer": "?"})
    async with working as agent:
        output = await take_turn(agent, agent_input())
    assert output.status.value == "fatal_error"
    assert output.error_message
    assert model.request_count == 0
