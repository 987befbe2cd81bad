"""Ends the connections to providers that litellm keeps for an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import litellm

__all__ = ["closing_clients"]


@asynccontextmanager
async def closing_clients() -> AsyncGenerator[None]:
    """Close, after the block, what litellm keeps open for the running event loop.

    It keeps a client by the loop's `id()`. A loop made later may have the same, and would be
    given a client whose connections belong to a closed loop.
    """
    try:
        yield
    finally:
        kept = litellm.in_memory_llm_clients_cache
        mine = f"-{id(asyncio.get_running_loop())}"
        for key in [key for key in kept.cache_dict if key.endswith(mine)]:
            client = kept.cache_dict.pop(key)
            kept.ttl_dict.pop(key, None)
            if inspect.iscoroutinefunction(close := getattr(client, "close", None)):
                await close()
