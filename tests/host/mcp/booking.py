"""A server whose tools ask the user, and an agent that calls them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel, Field

from rasa_react_ext.testing import ModelServer
from tests.host.interruption.conversation import Talk, talking
from tests.host.project import Project
from tests.mcp_pool.mcp_server import Served

__all__ = ["ASKS", "GO_ON", "RULES", "booking", "calls", "clerk"]

Ctx = Context[Any, Any, Any]
AGENTS = {"model": "agents"}
GO_ON = "set slot continue_interrupted_flow_confirmation True"
ASKS = "Which seat?"


class Seat(BaseModel):
    seat: str


class Guests(BaseModel):
    guests: int = Field(ge=1, le=8)


class Trip(BaseModel):
    travel_class: str = Field(json_schema_extra={"enum": ["first class", "second class"]})
    window: bool = Field(title="At the window")
    weight: float = Field(description="the weight of your luggage in kg")
    remark: str | None = Field(default=None, title="Any remark")


def booking(done: Counter[str]) -> FastMCP:
    server = FastMCP("booking", log_level="CRITICAL")

    async def asked(context: Ctx, message: str, schema: type[BaseModel]) -> str:
        done["asked"] += 1
        try:
            answer = await context.elicit(message, schema)
        except asyncio.CancelledError:
            done["called off"] += 1
            raise
        if answer.action != "accept":
            return f"not booked: {answer.action}"
        values = answer.data.model_dump(exclude_none=True)
        done["booked"] += 1
        return "booked " + ", ".join(f"{key} {value!r}" for key, value in values.items())

    @server.tool()
    async def book(context: Ctx) -> str:
        """Book a seat."""
        return await asked(context, ASKS, Seat)

    @server.tool()
    async def reserve_table(context: Ctx) -> str:
        """Reserve a table."""
        return await asked(context, "How many guests?", Guests)

    @server.tool()
    async def book_trip(context: Ctx) -> str:
        """Book a whole trip."""
        return await asked(context, "A few details, please.", Trip)

    @server.tool()
    async def book_twice(context: Ctx) -> str:
        """Book there and back."""
        there = await asked(context, "Which seat there?", Seat)
        return f"{there}; {await asked(context, 'Which seat back?', Seat)}"

    @server.tool()
    async def pay(context: Ctx) -> str:
        """Pay on a page."""
        answer = await context.elicit_url("Pay here:", "https://pay.example/7", "7")
        done["paid"] += answer.action == "accept"
        return f"paying: {answer.action}"

    return server


def calls(*names: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": {}} for name in names]}


RULES: tuple[Mapping[str, Any], ...] = (
    {"when": {**AGENTS, "user": "/^both$/", "last": "user"}, "answer": calls("book", "pay")},
    *(
        {"when": {**AGENTS, "user": f"/^call {name}$/", "last": "user"}, "answer": calls(name)}
        for name in ("book", "reserve_table", "book_trip", "book_twice", "pay")
    ),
    {"when": {**AGENTS, "last": "user"}, "answer": "I have heard of it."},
    {"when": {**AGENTS, "last": "tool"}, "answer": "That was the tool."},
)


@asynccontextmanager
async def clerk(
    project: Project,
    model: ModelServer,
    served: Served,
    *,
    rules: Sequence[Mapping[str, Any]] = (),
    **settings: Any,
) -> AsyncGenerator[Talk]:
    """A conversation with a clerk whose tools may ask."""
    ours = project.having(
        servers={"store": served.url},
        section={"agents": {"clerk": {"elicitation": "ask", **settings}}},
    )
    async with talking(ours, model, *rules, *RULES) as talk:
        await talk.say("start shop")
        yield talk
