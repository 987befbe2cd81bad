"""The MCP server of the tests: a store whose tools say what was done to them."""

from __future__ import annotations

import asyncio
from collections import Counter

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

__all__ = ["store"]

MEETING_SECONDS = 5.0


def store(done: Counter[str]) -> FastMCP:
    """The server; its tools count what they do in `done`.

    Args:
        done: Gets one count per call, by tool.
    """
    server = FastMCP("store", log_level="CRITICAL")
    waiting = asyncio.Condition()

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    async def look_up(item: str) -> dict[str, str]:
        """Find an item."""
        done["look_up"] += 1
        return {"item": item, "shelf": "B4"}

    @server.tool()
    async def reserve(item: str) -> str:
        """Put an item aside."""
        done["reserve"] += 1
        return f"reserved {item}"

    @server.tool()
    async def meet(count: int, guest: str) -> str:
        """Come back once as many guests as `count` are here."""
        async with waiting:
            done["meet"] += 1
            waiting.notify_all()
            async with asyncio.timeout(MEETING_SECONDS):
                await waiting.wait_for(lambda: done["meet"] >= count)
        return f"{guest} met"

    @server.tool()
    async def fail() -> str:
        """Always fails."""
        raise ValueError("the till is stuck")

    return server
