"""One agent as it would run: its servers, tools, prompt and what they cost."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import litellm
from rasa.agents.schemas import AgentInput
from rasa.agents.schemas.agent_input import AgentInputSlot
from rasa.shared.core.flows.steps import CallFlowStep
from rasa.shared.core.slots import CategoricalSlot

from rasa_react_ext.a2a_client import is_address
from rasa_react_ext.errors import ExtensionError
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.definition import offered_definitions
from rasa_react_ext.host.inspection.finding import AgentView
from rasa_react_ext.host.inspection.project import as_written

if TYPE_CHECKING:
    from rasa.shared.core.domain import Domain
    from rasa.shared.core.flows import FlowsList

    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.host.mcp.settings import McpServerSettings

__all__ = [
    "NOT_ASKED",
    "READY",
    "Call",
    "calls_of",
    "is_program",
    "public_url",
    "view_external",
    "view_react",
]

READY = "ready"
NOT_ASKED = "not asked"
Call = tuple[str, CallFlowStep]
"""Name of a flow and its step that calls an agent."""


def calls_of(flows: FlowsList | None, agent: str) -> list[Call] | None:
    """Every step that hands over to an agent; None where the flows are not known."""
    if flows is None:
        return None
    return [
        (flow.id, step)
        for flow in flows.underlying_flows
        for step in flow.steps
        if isinstance(step, CallFlowStep) and step.call == agent
    ]


def is_program(reach: McpServerSettings) -> bool:
    """Whether the program of a server that is a child process can be started, if that is known."""
    given = reach.env.get("PATH")
    path = given.get_secret_value() if given is not None else None
    # A path with a folder in it is looked for from where the child works.
    command = reach.command or ""
    if any(as_written(text) != text for text in (command, reach.cwd or "", path or "")):
        return True
    if reach.cwd and Path(command).name != command:
        command = str(Path(reach.cwd, command))
    return shutil.which(command, path=path) is not None


def public_url(url: str) -> str:
    """An address without user info, query and fragment, which may hold secrets."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "an address that is none"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def callers(calls: Sequence[Call] | None) -> list[str] | None:
    """Names of the flows of some steps."""
    return None if calls is None else sorted({flow for flow, _ in calls})


async def view_react(
    agent: ReActAgent, domain: Domain | None, calls: Sequence[Call] | None, *, connect: bool
) -> AgentView:
    """How an agent with tools would run.

    Args:
        agent: The agent, with its settings.
        domain: The domain, for the values of slots.
        calls: The steps that call it in one way: all with exit conditions, or all without.
        connect: Whether its servers are asked for their tools.
    """
    exit_if = [condition for _, step in calls or () for condition in step.exit_if or ()]
    agent_input = _input(agent, domain, exit_if)
    tools = await agent.mcp_tools.tools() if connect else ()
    missing = {text.partition(": ")[0]: text for text in agent.mcp_tools.missing()}
    state = READY if connect else NOT_ASKED
    built_in = agent.built_in_definitions(agent_input)
    definitions = offered_definitions(
        agent, [*tools, *agent.python_tools], built_in, agent_input, hooked=agent.changes_tools
    )
    prompt = agent.render_prompt_template(agent_input)
    return AgentView(
        name=agent.name,
        kind="task" if exit_if else "open",
        flows=callers(calls),
        servers=[missing.get(s.name, f"{s.name}: {state}") for s in agent.servers],
        tools=[definition["function"]["name"] for definition in definitions],
        slots=slot_names(exit_if),
        prompt=prompt,
        prompt_tokens=_tokens(_model(agent), prompt, definitions),
        model=_model(agent),
    )


async def view_external(
    agent: ExternalAgent, calls: Sequence[Call] | None, *, connect: bool
) -> tuple[AgentView, ExtensionError | None]:
    """How an external agent would run, and why it would not.

    Args:
        agent: The agent, with its settings.
        calls: The steps that call it.
        connect: Whether it is asked; a card in a file is read all the same.
    """
    address, state = agent.connection.spec.card, NOT_ASKED
    reason: ExtensionError | None = None
    try:
        if connect:
            card = await agent.connection.check()
            skills = ", ".join(skill.name for skill in card.skills)
            state = f"{READY}, {card.name}" + (f" ({skills})" if skills else "")
        elif not is_address(address):
            await agent.connection.card(attempts=1)
    except ExtensionError as error:
        state, reason = str(error), error
    finally:
        await agent.connection.aclose()
    servers = [f"{address}: {state}"]
    return AgentView(
        name=agent.name, kind="external", flows=callers(calls), servers=servers
    ), reason


def _input(agent: ReActAgent, domain: Domain | None, exit_if: Sequence[str]) -> AgentInput:
    """An input as the first turn of a conversation would bring it."""
    wanted = slot_names(exit_if)
    return AgentInput(
        id=agent.name,
        user_message="Hello",
        slots=[
            AgentInputSlot(
                name=slot.name,
                value=slot.value,
                type=slot.type_name,
                allowed_values=slot.values if isinstance(slot, CategoricalSlot) else None,
                mappings=[mapping.as_dict() for mapping in slot.mappings],
            )
            for slot in (domain.slots if domain is not None else ())
            if slot.name in wanted or slot.value is not None
        ],
        conversation_history="USER: Hello",
        events=[],
        metadata={"sender_id": "check", **({"exit_if": list(exit_if)} if exit_if else {})},
        recipient_id="check",
    )


def _model(agent: ReActAgent) -> str:
    config: Mapping[str, Any] = agent.llm_client.config
    models = config.get("models")
    first = models[0] if isinstance(models, list) and models else config
    return str(first.get("model") or first.get("deployment") or "")


def _tokens(model: str, prompt: str, definitions: Sequence[Mapping[str, Any]]) -> int | None:
    """An estimate: providers count their own way."""
    try:
        messages = [{"role": "system", "content": prompt}]
        tools: Any = [dict(definition) for definition in definitions]
        return int(litellm.token_counter(model=model, messages=messages, tools=tools or None))
    except Exception:  # noqa: BLE001 - an estimate that cannot be made is left out
        return None
