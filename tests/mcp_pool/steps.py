"""Steps that many tests of the pool take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rasa_react_ext.engine.tool import Tool
from rasa_react_ext.mcp_pool import PooledTools

__all__ = ["named", "until"]


async def named(tools: PooledTools, name: str) -> Tool:
    """The tool with this name."""
    listed = {tool.name: tool for tool in await tools.tools()}
    assert name in listed, tools.missing() or sorted(listed)
    return listed[name]


async def until(condition: Callable[[], object], seconds: float = 15) -> None:
    """Wait for something that happens in a thread or a process and sends no signal."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
