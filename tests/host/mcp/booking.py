"""A server whose tools ask the user, and an agent that calls them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations
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


async def _asked(done: Counter[str], context: Ctx, message: str, schema: type[BaseModel]) -> str:
    done["asked"] += 1
    with _noting(done):
        answer = await context.elicit(message, schema)
    if answer.action != "accept":
        return f"not booked: {answer.action}"
    values = answer.data.model_dump(exclude_none=True)
    done["booked"] += 1
    return "booked " + ", ".join(f"{key} {value!r}" for key, value in values.items())


@contextmanager
def _noting(done: Counter[str]) -> Generator[None]:
    try:
        yield
    except asyncio.CancelledError:
        done["called off"] += 1
        raise


def booking(done: Counter[str]) -> FastMCP:
    """A server whose tools ask, and note in `done` what they did."""
    server = FastMCP("booking", log_level="CRITICAL")
    for name, message, form in (
        ("book", ASKS, Seat),
        ("reserve_table", "How many guests?", Guests),
        ("book_trip", "A few details, please.", Trip),
        ("rebook", ASKS, Seat),
    ):
        _add(server, done, name, message, form)

    @server.tool()
    async def book_twice(context: Ctx) -> str:
        """Book there and back."""
        there = await _asked(done, context, "Which seat there?", Seat)
        return f"{there}; {await _asked(done, context, 'Which seat back?', Seat)}"

    @server.tool()
    async def book_slowly(context: Ctx) -> str:
        """Book a seat, which takes for ever."""
        await _asked(done, context, ASKS, Seat)
        with _noting(done):
            await asyncio.sleep(60)
        return "booked at last"

    @server.tool()
    async def book_noisily(context: Ctx) -> str:
        """Book a seat, and report progress without end."""
        await _asked(done, context, ASKS, Seat)
        for step in range(600):
            await context.report_progress(step)
            await asyncio.sleep(0.1)
        return "booked at last"

    @server.tool()
    async def list_seats(context: Ctx) -> str:
        """List seats, far too many of them."""
        answer = await context.elicit("Which row?", Guests)
        return f"{answer.action}: " + "seat " * 1000

    @server.tool()
    async def pay(context: Ctx) -> str:
        """Pay on a page."""
        answer = await context.elicit_url("Pay here:", "https://pay.example/7", "7")
        done["paid"] += answer.action == "accept"
        return f"paying: {answer.action}"

    return server


def _add(
    server: FastMCP, done: Counter[str], name: str, message: str, form: type[BaseModel]
) -> None:
    """A tool that asks once; the one that gives something up says so."""

    async def tool(context: Ctx) -> str:
        return await _asked(done, context, message, form)

    hints = ToolAnnotations(destructiveHint=name == "rebook")
    server.add_tool(tool, name=name, description=name, annotations=hints)


def calls(*names: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": {}} for name in names]}


TOOLS = (
    "book",
    "reserve_table",
    "book_trip",
    "book_twice",
    "rebook",
    "book_slowly",
    "list_seats",
    "pay",
)
RULES: tuple[Mapping[str, Any], ...] = (
    {"when": {**AGENTS, "user": "/^both$/", "last": "user"}, "answer": calls("book", "pay")},
    *(
        {"when": {**AGENTS, "user": f"/^call {name}$/", "last": "user"}, "answer": calls(name)}
        for name in TOOLS
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
    begins: bool = True,
    **settings: Any,
) -> AsyncGenerator[Talk]:
    """A conversation with a clerk whose tools may ask."""
    ours = project.having(
        servers={"store": served.url},
        section={"agents": {"clerk": {"elicitation": "ask", **settings}}},
    )
    async with talking(ours, model, *rules, *RULES) as talk:
        if begins:
            await talk.say("start shop")
        yield talk
