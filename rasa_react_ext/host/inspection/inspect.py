"""Puts a project's parts together as they would run, and looks at each agent."""

from __future__ import annotations

from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import litellm
import structlog
from rasa.agents.core.types import ProtocolType
from rasa.agents.schemas import AgentInput
from rasa.agents.schemas.agent_input import AgentInputSlot
from rasa.core.available_agents import ProtocolConfig
from rasa.shared.core.flows.steps import CallFlowStep
from rasa.shared.core.slots import CategoricalSlot

from rasa_react_ext.host import process
from rasa_react_ext.host.binding import settings_from
from rasa_react_ext.host.build import build_agents
from rasa_react_ext.host.check import check_flows
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.definition import offered_definitions
from rasa_react_ext.host.inspection.finding import AgentView, Finding, Inspection
from rasa_react_ext.host.inspection.project import Project, attempt, read_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.settings import Settings

__all__ = ["inspect_project"]


async def inspect_project(*, domain: str, data: list[str], connect: bool = True) -> Inspection:
    """Inspect the project in the working directory.

    Args:
        domain: Domain file or folder.
        data: Files and folders with flows.
        connect: Whether to reach out to servers and agents.

    Returns:
        Every finding, and each agent as it would run. Nothing is trained or loaded.
    """
    inspection, root = Inspection(), Path.cwd()
    with _warnings_of(inspection):
        project = read_project(inspection, root, domain=domain, data=data)
        settings = attempt(inspection, "config.yml", root, lambda: settings_from(project.policy))
        if settings is not None:
            attempt(
                inspection, "config.yml", root, lambda: settings.check_agents(list(project.agents))
            )
        if project.flows is not None and project.domain is not None:
            flows, its_domain = project.flows, project.domain
            attempt(
                inspection, "flows", root, lambda: check_flows(flows, its_domain, project.agents)
            )
        for name in sorted(project.agents):
            await _look_at(inspection, project, settings, name, connect=connect)
        await process.current().pool.aclose()
    return inspection


async def _look_at(
    inspection: Inspection,
    project: Project,
    settings: Settings | None,
    name: str,
    *,
    connect: bool,
) -> None:
    config = project.agents[name]
    file = f"sub_agents/{name}/config.yml"
    calls = _calls(project, name)
    if config.agent.protocol is ProtocolConfig.A2A:
        card = config.configuration.agent_card if config.configuration else None
        view = AgentView(
            name=name, kind="external", flows=[flow for flow, _ in calls], servers=[str(card)]
        )
        inspection.agents.append(view)
        return
    built = attempt(
        inspection, file, project.root, lambda: build_agents({name: config}, project.endpoints)
    )
    if built is None:
        return
    if settings is not None:
        for agent in built.values():
            agent.settings = settings.for_agent(name)
    for kind in sorted({bool(step.exit_if) for _, step in calls}) or [False]:
        protocol = ProtocolType.MCP_TASK if kind else ProtocolType.MCP_OPEN
        of_kind = [(flow, step) for flow, step in calls if bool(step.exit_if) is kind]
        view = await _view(built[name, protocol], project, of_kind, connect=connect)
        inspection.agents.append(view)
        _note_missing(inspection, view, file)


def _calls(project: Project, name: str) -> list[tuple[str, CallFlowStep]]:
    if project.flows is None:
        return []
    return [
        (flow.id, step)
        for flow in project.flows.underlying_flows
        for step in flow.steps
        if isinstance(step, CallFlowStep) and step.call == name
    ]


async def _view(
    agent: ReActAgent,
    project: Project,
    calls: Sequence[tuple[str, CallFlowStep]],
    *,
    connect: bool,
) -> AgentView:
    exit_if = [condition for _, step in calls for condition in step.exit_if or ()]
    agent_input = _input(agent, project, exit_if)
    tools = await agent.mcp_tools.tools() if connect else ()
    missing = {text.partition(":")[0]: text for text in agent.mcp_tools.missing()}
    built_in = agent.built_in_definitions(agent_input)
    definitions = offered_definitions(
        agent, [*tools, *agent.python_tools], built_in, agent_input, hooked=agent.changes_tools
    )
    prompt = agent.render_prompt_template(agent_input)
    states = [
        missing.get(s.name, f"{s.name}: {'ready' if connect else 'not asked'}")
        for s in agent.servers
    ]
    return AgentView(
        name=agent.name,
        kind="task" if exit_if else "open",
        flows=sorted({flow for flow, _ in calls}),
        servers=states,
        tools=[definition["function"]["name"] for definition in definitions],
        slots=slot_names(exit_if),
        prompt=prompt,
        prompt_tokens=_tokens(_model(agent), prompt, definitions),
        model=_model(agent),
    )


def _input(agent: ReActAgent, project: Project, exit_if: Sequence[str]) -> AgentInput:
    """An input as the first turn of a conversation would bring it."""
    wanted = slot_names(exit_if)
    slots = project.domain.slots if project.domain is not None else []
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
            for slot in slots
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


def _note_missing(inspection: Inspection, view: AgentView, file: str) -> None:
    for state in view.servers:
        server, _, reason = state.partition(": ")
        if reason not in {"ready", "not asked"}:
            text = f"The server cannot be reached now: {reason} Its tools are missing until then."
            key = f"connections: mcp_servers: {server}"
            found = Finding(level="warning", file=file, line=None, key=key, text=text)
            inspection.findings.append(found)


@contextmanager
def _warnings_of(inspection: Inspection) -> Generator[None]:
    """Turns what our own checks would log into findings."""

    def note(_logger: object, method: str, event: MutableMapping[str, Any]) -> str:
        name = str(event.get("event") or "")
        ours = name.startswith("rasa_react_ext.") and ".mcp_pool." not in name
        if ours and method in {"warning", "error"}:
            text = str(event.get("event_info") or name)
            level = "error" if method == "error" else "warning"
            file, _, rest = text.partition(": ")
            inspection.findings.append(
                Finding(level=level, file=file, line=None, key="", text=rest or text)
            )
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[note], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
