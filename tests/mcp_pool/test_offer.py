"""What servers are told that they may ask, and what they hear when it is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.exceptions import McpError

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.errors import LimitError
from rasa_react_ext.mcp_pool import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Offer,
    Pool,
    PooledTools,
    SamplingAnswer,
    SamplingRequest,
    ServerSpec,
)
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.steps import named, until

Ctx = Context[Any, Any, Any]


def curious() -> FastMCP:
    server = FastMCP("curious", log_level="CRITICAL")

    @server.tool()
    async def knows(context: Ctx) -> str:
        """Say what the client said it can do."""
        told = context.session.client_params
        assert told is not None
        offered = told.capabilities.model_dump(exclude_none=True)
        known = sorted(key for key in offered if key in {"elicitation", "sampling"})
        return f"may ask: {' '.join(known)}"

    @server.tool()
    async def ask(context: Ctx, times: int) -> str:
        """Ask a model."""
        content = types.TextContent(type="text", text="Well?")
        messages = [types.SamplingMessage(role="user", content=content)]
        told: list[str] = []
        for _ in range(times):
            try:
                answer = await context.session.create_message(
                    messages, max_tokens=9, related_request_id=context.request_id
                )
                told.append(str(answer.stopReason))
            except McpError as error:
                told.append(error.error.message)
        return " | ".join(told)

    @server.tool()
    async def wait() -> str:
        """Be in flight."""
        await asyncio.sleep(60)
        return ""

    return server


@pytest.fixture
def server() -> Iterator[Served]:
    with serving(lambda: curious().streamable_http_app()) as served:
        yield served


async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
    return ElicitationAnswer(action="decline")


async def slow(request: SamplingRequest) -> SamplingAnswer:
    await asyncio.sleep(0.4)
    return SamplingAnswer(text="Well.", model="m", cut=True)


async def call(tools: PooledTools, name: str, /, timeout: float = 10, **arguments: Any) -> str:
    context = CallContext(call_id="c", timeout_seconds=timeout, limit_seconds=10)
    return (await tools.call(await named(tools, name), arguments, context)).text


async def test_d4_1_agents_that_let_a_server_ask_other_things_have_sessions_of_their_own(
    server: Served,
) -> None:
    wanted: list[frozenset[Offer]] = [
        frozenset(),
        frozenset({"elicitation"}),
        frozenset({"sampling", "elicitation"}),
    ]
    async with Pool(callbacks=Callbacks(elicit=elicit, sample=slow)) as pool:
        for offers in [*wanted, *wanted]:
            tools = PooledTools(pool, ServerSpec(name="s", url=server.url, offers=offers))
            assert await call(tools, "knows") == f"may ask: {' '.join(sorted(offers))}"
    assert server.seen["initialize"] == 3, "the same offers share a session"


async def test_d4_2_a_model_that_works_for_a_call_is_a_sign_of_life_of_the_call(
    server: Served,
) -> None:
    async with Pool(callbacks=Callbacks(sample=slow)) as pool:
        tools = PooledTools(pool, ServerSpec(name="s", url=server.url))
        assert await call(tools, "ask", 0.6, times=3) == "maxTokens | maxTokens | maxTokens"


async def test_d4_2_a_server_is_told_when_it_has_asked_enough(server: Served) -> None:
    async def never(request: SamplingRequest) -> SamplingAnswer:
        raise LimitError("steps", "enough is enough")

    async with Pool(callbacks=Callbacks(sample=never)) as pool:
        tools = PooledTools(pool, ServerSpec(name="s", url=server.url))
        assert await call(tools, "ask", times=1) == "Declined by the client: enough is enough."


async def test_b60_a_call_abandoned_at_the_very_end_is_called_off_all_the_same(
    server: Served,
) -> None:
    async with Pool() as pool:
        tools = PooledTools(pool, ServerSpec(name="s", url=server.url))
        pending = asyncio.create_task(call(tools, "wait"))
        await until(lambda: server.seen["tools/call"] == 1)
        pending.cancel()
        await asyncio.wait({pending})
    assert [n["method"] for n in server.notices][-1] == "notifications/cancelled"
