"""Tells of names in include_tools and exclude_tools that the server does not have.

Only a server knows its tools, so this is seen when its list has first been read.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import structlog

from rasa_react_ext.engine.source import Wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rasa.core.available_agents import AgentMCPServerConfig

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.engine.tool import Tool

__all__ = ["FilterCheck"]

_SHOWN = 3
_log = structlog.get_logger()


class FilterCheck(Wrapper):
    """Shows the tools as they are; logs each unknown name of the filter once.

    Args:
        source: The unfiltered tools of the server.
        server: The server as the agent's config.yml names it.
        agent: Name of the agent.
        first_time: Whether something is told for the first time in this process.
    """

    def __init__(
        self,
        source: ToolSource,
        server: AgentMCPServerConfig,
        agent: str,
        first_time: Callable[..., bool],
    ) -> None:
        super().__init__(source)
        self._server = server
        self._agent = agent
        self._first_time = first_time

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The same tools; a server that could not be reached is not checked."""
        if not self.missing():
            self._check(sorted({tool.origin_name or tool.name for tool in under}))
        return under

    def _check(self, known: list[str]) -> None:
        for key in ("include_tools", "exclude_tools"):
            for name in getattr(self._server, key) or ():
                seen = ("tool", self._agent, self._server.name, key, name)
                if name not in known and self._first_time(*seen):
                    self._tell(key, name, known)

    def _tell(self, key: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name, known, n=_SHOWN) or known[:_SHOWN]
        names = ", ".join(map(repr, near))
        fix = f"Tools there with names like it: {names}." if names else "The server has no tools."
        _log.error(
            "rasa_react_ext.agent.unknown_tool",
            agent_name=self._agent,
            server_id=self._server.name,
            tool_name=name,
            event_info=(
                f"sub_agents: {self._agent}: config.yml: connections: mcp_servers: "
                f"{self._server.name}: {key}: the server has no tool {name!r}. {fix}"
            ),
        )
