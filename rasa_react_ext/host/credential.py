"""Metadata for MCP tool calls: `meta_map` and `pre_call_hook` of a server.

Source: the documented keys of a server in endpoints.yml. A hook that fails aborts
that call only; values never reach logs or results, only key names do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.utils import get_slot_value_from_agent_input
from rasa.shared.agents.outbound_call_hook import (
    OutboundCallHookError,
    invoke_mcp_call_hook,
    load_call_hook,
    merge_call_metadata,
)
from rasa.shared.utils.mcp.utils import build_mcp_meta

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.core.available_agents import AgentMCPServerConfig

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["Credentialed"]

SHORTEST_SECONDS = 0.1
_log = structlog.get_logger()


class Credentialed:
    """MCP tools of an agent, each call with the metadata of its server."""

    def __init__(self, source: ToolSource, agent: ReActAgent, agent_input: AgentInput) -> None:
        self._source = source
        self._agent = agent
        self._input = agent_input
        self._servers = {server.name: server for server in agent.servers}

    async def tools(self) -> Sequence[Tool]:
        """The tools of the source."""
        return await self._source.tools()

    def missing(self) -> Sequence[str]:
        """What is missing at the source."""
        return self._source.missing()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call with metadata; not at all when it cannot be had."""
        server = self._servers.get(tool.origin)
        if server is None or (server.meta_map is None and server.pre_call_hook is None):
            return await self._source.call(tool, arguments, context)
        started = time.monotonic()
        try:
            meta = await self._meta(server, tool)
        except OutboundCallHookError as error:
            cause = type(error.__cause__ or error).__name__  # its text may hold the secret
            _log.warning(
                "rasa_react_ext.pre_call_hook.failed",
                agent_name=self._input.id,
                server_id=server.name,
                tool_name=tool.origin_name,
                event_info=f"The pre_call_hook of MCP server {server.name!r} failed ({cause}).",
            )
            return ToolResult(
                text=f"{tool.name} was not called: its credentials could not be fetched.",
                is_error=True,
            )
        left = context.timeout_seconds - (time.monotonic() - started)
        timed = replace(context, meta=meta, timeout_seconds=max(left, SHORTEST_SECONDS))
        return await self._source.call(tool, arguments, timed)

    async def _meta(self, server: AgentMCPServerConfig, tool: Tool) -> dict[str, Any]:
        from_slots = (server.meta_map.from_slots or []) if server.meta_map else []
        slots = {
            entry.slot: get_slot_value_from_agent_input(self._input, entry.slot)
            for entry in from_slots
        }
        meta = build_mcp_meta(server.meta_map, slots)
        if server.pre_call_hook is None:
            return meta
        context = self._agent.build_mcp_outbound_call_context_for_agent(
            self._input, tool.origin_name or tool.name, server.name
        )
        hook = load_call_hook(server.pre_call_hook)
        return merge_call_metadata(meta, await invoke_mcp_call_hook(hook, context))
