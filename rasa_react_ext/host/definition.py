"""Tool definitions as the documented hooks of an agent class make and change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rasa.agents.schemas import AgentToolSchema

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.source import safe_name

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.agents.schemas.agent_input import AgentInputSlot

    from rasa_react_ext.engine.tool import Tool
    from rasa_react_ext.host.agent import ReActAgent

__all__ = [
    "as_host_schema",
    "offered_definitions",
    "set_slot_tool",
    "task_completed_tool",
    "tools_now",
]

Definition = Mapping[str, Any]

tools_now: ContextVar[Sequence[Tool]] = ContextVar("rasa_react_ext_tools", default=())
"""The tools of the sources while `get_available_tools` is asked."""

_UNTYPED = {"any", "list"}


def task_completed_tool() -> dict[str, Any]:
    """The tool that ends a general-purpose run; it has no parameters."""
    return {
        "type": "function",
        "function": {
            "name": "task_completed",
            "description": wording.TASK_DESCRIPTION,
            "parameters": {
                "type": "object",
                "properties": {},
                "required": [],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }


def set_slot_tool(slot: AgentInputSlot) -> dict[str, Any]:
    """The tool that sets one slot, with a schema for the slot's type."""
    spec = SlotSpec(name=slot.name, type=slot.type, allowed_values=tuple(slot.allowed_values or ()))
    choices = f" Allowed values: {', '.join(map(repr, spec.choices))}." if spec.choices else ""
    return {
        "type": "function",
        "function": {
            "name": safe_name(f"set_slot_{slot.name}"),
            "description": f"Store the value of slot {slot.name!r} ({slot.type}).{choices}",
            "parameters": {
                "type": "object",
                "properties": {"slot_value": {**spec.value_schema(), "description": "The value."}},
                "required": ["slot_value"],
                "additionalProperties": False,
            },
            "strict": slot.type not in _UNTYPED,
        },
    }


def as_host_schema(definition: Definition) -> AgentToolSchema:
    """The host's form of a definition, without the host's changes to the schema."""
    function = definition["function"]
    return AgentToolSchema(
        name=function["name"],
        description=function.get("description") or "",
        parameters=dict(function.get("parameters") or {}),
        strict=bool(function.get("strict", False)),
        type="function",
    )


def offered_definitions(
    agent: ReActAgent,
    tools: Sequence[Tool],
    built_in: Sequence[Definition],
    agent_input: AgentInput,
    *,
    hooked: bool,
) -> list[Definition]:
    """Definitions to offer, after the hooks that may change them.

    Args:
        agent: The agent whose hooks are asked.
        tools: Tools of the sources.
        built_in: Built-in tools of this run.
        agent_input: The input the hooks get.
        hooked: Whether the agent's class changes the list at all.
    """
    faithful: list[Definition] = [*(tool.definition() for tool in tools), *built_in]
    if not hooked:
        return faithful
    reset = tools_now.set(tools)
    try:
        offered = agent.get_available_tools(agent_input)
    finally:
        tools_now.reset(reset)
    known = {definition["function"]["name"]: definition for definition in faithful}
    return [
        known[schema.name]
        if schema.name in known and as_host_schema(known[schema.name]) == schema
        else schema.to_litellm_json_format()
        for schema in offered
    ]
