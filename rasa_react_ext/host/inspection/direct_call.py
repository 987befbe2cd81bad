"""Checks on steps that call a tool of an MCP server without an agent.

The host makes these calls itself: a name that the server does not know ends the flow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment
from rasa.core.available_agents import AgentMCPServerConfig

from rasa_react_ext.errors import ConfigurationError, PeerError
from rasa_react_ext.explain.setting import meant, nearest
from rasa_react_ext.host import process
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.source import entries, section, steps
from rasa_react_ext.host.mcp.settings import McpServerSettings
from rasa_react_ext.host.server import server_spec

if TYPE_CHECKING:
    from rasa.core.config.available_endpoints import AvailableEndpoints

    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source
    from rasa_react_ext.host.settings import Settings

__all__ = ["check_direct_tools"]

_RESULT = "result"
_FIELDS = ("content", "isError", "meta", "structuredContent")
"""What the host shows of a tool's result to the expressions of an output mapping."""

_OPEN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})
"""Words of a schema that may bring properties which it does not list itself."""


async def check_direct_tools(
    inspection: Inspection,
    files: Files,
    endpoints: AvailableEndpoints,
    settings: Settings,
    *,
    connect: bool,
) -> None:
    """Look at every such step.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
        endpoints: Where servers are.
        settings: How they are really reached.
        connect: Whether servers are asked for their tools.
    """
    known = dict[str, Sequence[Any] | None]()
    servers = {server.name: server for server in endpoints.mcp_servers or ()}
    for source in files.flows:
        for flow, values in section(source.values(), "flows").items():
            for step in steps(values, "call"):
                server = servers.get(str(step.get("mcp_server")))
                if server is None:
                    continue
                if connect and server.name not in known:
                    reach = settings.deployment.mcp_servers.get(server.name, McpServerSettings())
                    known[server.name] = await _tools(inspection, files, server, reach)
                name = str(step["call"])
                place = ("flows", str(flow), str(step.get("id") or name))
                _Step(inspection, source, place, step).check(known.get(server.name))


async def _tools(
    inspection: Inspection, files: Files, server: Any, reach: McpServerSettings
) -> Sequence[Any] | None:
    """The tools that a server lists; None while it cannot be asked."""
    named = AgentMCPServerConfig(
        name=server.name,
        url=server.url,
        type=server.type,
        additional_params=server.additional_params,
    )
    try:
        spec = server_spec(named, "", 0, reach)
        return await process.current().pool.catalogue(spec).tools()
    except ConfigurationError as error:
        inspection.add(files.refused(error))
    except PeerError as error:
        parts = ["mcp_servers", server.name, "url"]
        inspection.add(
            Finding(
                level="warning",
                file=files.endpoints.path,
                line=files.endpoints.line(parts),
                key=": ".join(parts),
                problem=f"server {server.name!r} cannot be reached now: {str(error).rstrip('.')}.",
                fix="Start it or correct its entry; its tools are missing until then.",
            )
        )
    return None


@dataclass(frozen=True, slots=True)
class _Step:
    """One step that calls a tool."""

    inspection: Inspection
    source: Source
    place: Sequence[str]
    values: Mapping[str, Any]

    def check(self, tools: Sequence[Any] | None) -> None:
        """Look at its names; at those of the server only where its tools are known."""
        mapping = section(self.values, "mapping")
        tool = self._tool(tools) if tools is not None else None
        if tool is not None:
            self._check_input(entries(mapping, "input"), tool)
        for entry in entries(mapping, "output"):
            self._check_output(entry, tool)

    def _tool(self, tools: Sequence[Any]) -> Any:
        name, names = str(self.values["call"]), [tool.name for tool in tools]
        if name in names:
            return tools[names.index(name)]
        server = self.values["mcp_server"]
        listed = f"Its tools are: {', '.join(sorted(names))}." if names else "It has none."
        problem = f"MCP server {server!r} has no tool {name!r}."
        self._tell([], name, problem, nearest(name, names) or listed)
        return None

    def _check_input(self, given: Sequence[Mapping[str, Any]], tool: Any) -> None:
        schema = tool.inputSchema
        properties = section(schema, "properties")
        needed, names = list(schema.get("required") or ()), [str(e.get("param")) for e in given]
        unknown = [name for name in names if name not in properties]
        if not properties or schema.get("additionalProperties") or _OPEN & set(schema):
            unknown = []
        for name in unknown:
            right = meant(name, set(needed) - set(names)) or meant(name, properties)
            keys = f"Its parameters are: {', '.join(sorted(properties))}."
            problem = f"the tool {tool.name!r} has no parameter {name!r}."
            self._tell(["input", name], name, problem, nearest(name, [right]) or keys)
            needed = [key for key in needed if key != right]
        for name in needed:
            if name not in names:
                problem = f"the tool {tool.name!r} needs the parameter {name!r}."
                fix = "Add it, with the slot that its value comes from."
                self._tell(["input", name], "", problem, fix)

    def _check_output(self, entry: Mapping[str, Any], tool: Any) -> None:
        text = str(entry.get("value"))
        parts, problem = ["output", str(entry.get("slot"))], ""
        fix = f"Begin with {_RESULT}.structuredContent or {_RESULT}.content."
        try:
            path = _path(text)
        except TemplateSyntaxError as error:
            problem, fix = f"{text!r} is no expression: {error}.", "Correct its syntax."
            path = ()
        if path and path[0] != _RESULT:
            problem = f"there is no {path[0]!r} in it, so the slot would stay empty."
        elif len(path) > 1 and path[1] not in _FIELDS:
            problem = f"a result has no {path[1]!r}, so the slot would stay empty."
            fix = nearest(path[1], _FIELDS) or f"It has {', '.join(_FIELDS)}."
        elif tool is not None and len(path) > 2 and path[1] == "structuredContent":
            promised = section(tool.outputSchema or {}, "properties")
            if promised and path[2] not in promised:
                problem = f"the tool {tool.name!r} promises no {path[2]!r} in its result."
                fix = nearest(path[2], promised) or f"It has {', '.join(sorted(promised))}."
        if problem:
            self._tell(parts, text, problem, fix)

    def _tell(self, parts: Sequence[str], word: str, problem: str, fix: str) -> None:
        place = [*self.place, *(["mapping", *parts] if parts else [])]
        line = (self.source.mention(place, word) if word else None) or self.source.line(place)
        key = ": ".join(place)
        found = Finding(file=self.source.path, line=line, key=key, problem=problem, fix=fix)
        self.inspection.add(found)


def _path(text: str) -> Sequence[str]:
    """The names of a plain path such as `result.structuredContent.id`, else its root only.

    Raises:
        TemplateSyntaxError: It is no expression.
    """
    environment = SandboxedEnvironment()
    environment.compile_expression(text)
    names, node = list[str](), Parser(environment, text, state="variable").parse_expression()
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        key = node.attr if isinstance(node, nodes.Getattr) else _constant(node.arg)
        names, node = [key, *names], node.node
        if not key:
            names = []
    return [node.name, *names] if isinstance(node, nodes.Name) else ()


def _constant(node: nodes.Node) -> str:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else ""
