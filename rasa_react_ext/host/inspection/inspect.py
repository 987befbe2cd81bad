"""Puts a project's parts together as they would run, and looks at each agent."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from rasa.agents.core.types import ProtocolType
from rasa.core.available_agents import AgentConfiguration, ProtocolConfig

from rasa_react_ext.errors import ConfigurationError, ConnectionLostError
from rasa_react_ext.host import process
from rasa_react_ext.host.build import build_agents
from rasa_react_ext.host.check import check_direct_calls, check_flows
from rasa_react_ext.host.dot_env import read_dot_env
from rasa_react_ext.host.external.build import CHANNEL, build_external_agents
from rasa_react_ext.host.inspection.action import check_actions
from rasa_react_ext.host.inspection.channel import check_channels
from rasa_react_ext.host.inspection.component import check_components
from rasa_react_ext.host.inspection.direct_call import check_direct_tools
from rasa_react_ext.host.inspection.duplicate import check_duplicates
from rasa_react_ext.host.inspection.files import Files, parts_of, read_files
from rasa_react_ext.host.inspection.finding import AgentView, Finding, Inspection, Level
from rasa_react_ext.host.inspection.layout import laid_out
from rasa_react_ext.host.inspection.mend import expanded
from rasa_react_ext.host.inspection.own_class import tool_fault
from rasa_react_ext.host.inspection.project import (
    Project,
    as_written,
    attempt,
    note_refusal,
    read_project,
    validate_agents,
    variables_filled_in,
)
from rasa_react_ext.host.inspection.reference import check_names
from rasa_react_ext.host.inspection.shape import check_shapes
from rasa_react_ext.host.inspection.validator import check_with_host, validator_of
from rasa_react_ext.host.inspection.view import (
    NOT_ASKED,
    READY,
    calls_of,
    is_program,
    public_url,
    view_external,
    view_react,
)
from rasa_react_ext.host.inspection.written import check_written
from rasa_react_ext.host.settings import SECTION, EngineSettings, Settings

if TYPE_CHECKING:
    from rasa.core.available_agents import AgentConfig
    from rasa.core.config.available_endpoints import AvailableEndpoints

__all__ = ["inspect_project"]

_Made = TypeVar("_Made")
_UNREAD = Settings(engine=EngineSettings(allow_private_push_url=True))
"""In place of settings that were refused: what they may allow is not told to be missing."""


async def inspect_project(*, domain: str, data: list[str], connect: bool = True) -> Inspection:
    """Inspect the project in the working directory.

    Args:
        domain: Domain file or folder.
        data: Files and folders with flows.
        connect: Whether to reach out to servers and agents.

    Returns:
        Every finding, and each agent as it would run. Nothing is trained or loaded.
    """
    inspection, files = Inspection(), read_files(domain, data)
    try:
        read_dot_env()
    except ConfigurationError as error:  # each of its variables would be told to be missing
        fix = f"{error.fix} Nothing else was looked at."
        inspection.add(replace(files.refused(error), fix=fix))
        return inspection
    files = check_duplicates(inspection, files)
    files = check_written(inspection, files)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet(inspection, files))
        unset = stack.enter_context(variables_filled_in(files))
        files = replace(files, credentials=check_channels(inspection, files.credentials))
        files = check_shapes(inspection, files, unset)
        check_names(inspection, files)
        layout = stack.enter_context(laid_out(files, domain))
        project = read_project(inspection, files, layout, data)
        if project.flows is not None and project.domain is not None:
            flows, its_domain, agents = project.flows, project.domain, project.agents
            attempt(inspection, files, data[0], lambda: check_flows(flows, its_domain, agents))
            reach = (project.settings or Settings()).deployment.mcp_servers
            attempt(inspection, files, data[0], lambda: check_direct_calls(flows, reach))
        check_components(inspection, files.config)
        check_actions(inspection, files)
        _validate(inspection, files, project, layout.domain)
        if project.endpoints is not None:
            look = _Look(inspection, files, project, project.endpoints, connect and not unset)
            for name in sorted(project.agents):
                await look.at(name)
            settings = project.settings or Settings()
            await check_direct_tools(
                inspection, files, project.endpoints, settings, connect=connect and not unset
            )
            await process.current().pool.aclose()
        validate_agents(inspection, files, layout)
    return _as_written(inspection) if unset else inspection


def _validate(inspection: Inspection, files: Files, project: Project, domain: str) -> None:
    # The host does not see what a misspelt section of flows holds, and would miss all of it.
    unseen = any(source.mended is not None for source in files.flows)
    if unseen or any(s.problem for s in (files.config, *files.domain, *files.flows)):
        return
    refused = partial(note_refusal, inspection, files)
    if project.importer is None:  # it was told why; what else that breaks is not
        refused = _ignored
    try:
        validator = validator_of(project.importer, files, domain)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the host raises many kinds
        refused(domain, error)
    else:
        check_with_host(inspection, files, validator, refused)


def _ignored(_file: str, _error: BaseException) -> None:
    """For refusals that follow from one that was told."""


def _as_written(inspection: Inspection) -> Inspection:
    """With the names of unset variables where something was filled in for them."""
    shown = Inspection()
    for found in inspection.findings:
        shown.add(replace(found, problem=as_written(found.problem), fix=as_written(found.fix)))
    shown.agents = [
        replace(
            agent,
            servers=[as_written(server) for server in agent.servers],
            prompt=as_written(agent.prompt),
            model=as_written(agent.model),
        )
        for agent in inspection.agents
    ]
    return shown


class _Look:
    """Looks at one agent after the other."""

    def __init__(
        self,
        inspection: Inspection,
        files: Files,
        project: Project,
        endpoints: AvailableEndpoints,
        connect: bool,
    ) -> None:
        self._inspection = inspection
        self._files = files
        self._project = project
        self._endpoints = endpoints
        self._connect = connect

    async def at(self, name: str) -> None:
        """Show an agent as it would run, or say why it would not."""
        config = self._project.agents[name]
        if config.agent.protocol is ProtocolConfig.A2A:
            await self._at_external(name, config)
        else:
            await self._at_react(name, config)

    async def _at_react(self, name: str, config: AgentConfig) -> None:
        file, settings = self._files.agent(name).path, self._project.settings or Settings()
        made = self._made(
            file, config, lambda config: build_agents({name: config}, self._endpoints, settings)
        )
        if made is None:
            return
        calls = calls_of(self._project.flows, name)
        for kind in sorted({bool(step.exit_if) for _, step in calls or ()}) or [False]:
            agent = made[name, ProtocolType.MCP_TASK if kind else ProtocolType.MCP_OPEN]
            of_kind = calls and [call for call in calls if bool(call[1].exit_if) is kind]
            try:
                view = await view_react(agent, self._project.domain, of_kind, connect=self._connect)
            except Exception as error:  # noqa: BLE001 - a user's class may raise anything
                attempt(self._inspection, self._files, file, lambda error=error: _raise(error))
                continue
            self._inspection.agents.append(view)
            self._note_missing(view)

    async def _at_external(self, name: str, config: AgentConfig) -> None:
        file, settings = self._files.agent(name).path, self._project.settings or _UNREAD
        made = self._made(
            file,
            config,
            lambda config: build_external_agents(
                {name: config},
                self._endpoints,
                settings,
                channel=CHANNEL in (self._files.credentials.values() or {}),
            ),
        )
        if made is None:
            return
        calls = calls_of(self._project.flows, name)
        agent = made[name, ProtocolType.A2A]
        view, reason = await view_external(agent, calls, connect=self._connect)
        self._inspection.agents.append(view)
        if isinstance(reason, ConfigurationError):
            self._inspection.add(self._files.refused(reason), ["agent_card", repr(name)])
        elif reason is not None:
            problem, _, fix = str(reason).rpartition(". ")
            self._note(
                "warning" if isinstance(reason, ConnectionLostError) else "error",
                file,
                ["configuration", "agent_card"],
                f"{problem or reason}".rstrip(".") + ".",
                fix if problem else "Start it.",
            )

    def _made(
        self, file: str, config: AgentConfig, build: Callable[[AgentConfig], _Made]
    ) -> _Made | None:
        """What is built of an agent's file, again without each value that is refused."""
        for _ in AgentConfiguration.model_fields:
            try:
                return build(config)
            except ConfigurationError as error:
                note_refusal(self._inspection, self._files, file, error)
                part, *keys = parts_of(error.key)
                if part != "configuration" or not keys or config.configuration is None:
                    return None
                without = config.configuration.model_copy(update={keys[0]: None})
                config = config.model_copy(update={"configuration": without})
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's class may raise anything
                own = config.configuration and config.configuration.module
                found = tool_fault(error, own) if own else None
                if found is not None:
                    self._inspection.add(found)
                else:
                    note_refusal(self._inspection, self._files, file, error)
                return None
        return None

    def _note_missing(self, view: AgentView) -> None:
        ways = (self._project.settings or Settings()).deployment.mcp_servers
        for state in view.servers:
            server, _, reason = state.partition(": ")
            reach = ways.get(server)
            place, file = ["mcp_servers", server, "url"], self._files.endpoints.path
            if reach is not None and reach.transport == "stdio":
                place = [SECTION, "mcp_servers", server, "command"]
                if reason != READY and not is_program(reach):
                    problem = f"there is no program {reach.command!r}."
                    self._note("error", file, place, problem, "Install it, or write its path.")
                    continue
            elif reach is not None and reach.url:
                place = [SECTION, *place]
            if reason in {READY, NOT_ASKED}:
                continue
            self._note(
                "warning",
                file,
                place,
                f"server {server!r}{self._address(server)} cannot be reached now: "
                f"{reason.rstrip('.')}.",
                "Start it or correct its entry; its tools are missing until then.",
            )

    def _address(self, server: str) -> str:
        """Where a server is looked for, in brackets, without what may be secret."""
        ways = (self._project.settings or Settings()).deployment.mcp_servers
        reach = ways.get(server)
        named = (s for s in self._endpoints.mcp_servers or () if s.name == server)
        url = reach.url if reach is not None else None
        if url is None and (reach is None or reach.transport != "stdio"):
            url = next((entry.url for entry in named), None)
        return f" ({public_url(str(expanded(str(url))))})" if url else ""

    def _note(self, level: Level, file: str, parts: list[str], problem: str, fix: str) -> None:
        line = self._files.place(file)[0].line(parts)
        self._inspection.add(
            Finding(
                level=level,
                file=file,
                line=line,
                key=": ".join(parts),
                problem=problem,
                fix=fix,
            )
        )


def _raise(error: Exception) -> None:
    raise error


@contextmanager
def _quiet(inspection: Inspection, files: Files) -> Generator[None]:
    """Turns what our own checks log into findings; the host's words are not shown."""

    def note(_logger: object, method: str, event: MutableMapping[str, Any]) -> str:
        name = str(event.get("event") or "")
        ours = name.startswith("rasa_react_ext.") and ".mcp_pool." not in name
        if ours and method in {"warning", "error"}:
            inspection.add(files.logged("error" if method == "error" else "warning", event))
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[note], cache_logger_on_first_use=False)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        structlog.configure(**before)
