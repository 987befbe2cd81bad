"""Which texts are sent, when, and as what they are recorded (the rules of D3.9), row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.channels.agent import Door
from tests.host.channels.output import Streaming, Whole
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, slot, take_turn

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]

AGENTS = {"model": "agents"}
COMPLETE = {"name": "task_completed"}
KNOCK = {"name": "knock"}
SLAM = {"name": "slam"}
SIZE = {"name": "set_slot_size", "arguments": {"slot_value": "L"}}
CONDITIONS = ["slots.size is not null"]
FILLER, CLOSING, QUESTION = "filler_message", "final_response", "input_required"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table.

    Attributes:
        calls: What stands beside the text "Text." in the first answer.
        second: The second answer.
        conditions: Exit conditions; none for a general-purpose agent.
        whole: What is heard where texts are shown whole: texts and tools in order.
        whole_kinds: As what these texts are recorded.
        stream: The same where they are shown as they come; None means as `whole`.
        stream_kinds: The same.
        off: What is heard without fillers, on both kinds of channel.
        off_kinds: As what it is recorded.
        status: How the turn ends.
    """

    calls: tuple[dict[str, Any], ...]
    second: Any = "More."
    conditions: tuple[str, ...] = ()
    whole: list[str]
    whole_kinds: list[str]
    stream: list[str] | None = None
    stream_kinds: list[str] | None = None
    off: list[str]
    off_kinds: list[str]
    status: str = "input_required"


ROWS = {
    "beside tools it is filler": Row(
        calls=(KNOCK,),
        whole=["Text.", "[knock]", "More."],
        whole_kinds=[FILLER, QUESTION],
        off=["[knock]", "More."],
        off_kinds=[QUESTION],
    ),
    "beside completion alone it closes": Row(
        calls=(COMPLETE,),
        whole=["Text."],
        whole_kinds=[CLOSING],
        off=["Text."],
        off_kinds=[CLOSING],
        status="completed",
    ),
    "beside completion and tools it waits, unless streamed": Row(
        calls=(KNOCK, COMPLETE),
        whole=["[knock]", "Text."],
        whole_kinds=[CLOSING],
        stream=["Text.", "[knock]"],
        stream_kinds=[CLOSING],
        off=["[knock]", "Text."],
        off_kinds=[CLOSING],
        status="completed",
    ),
    "beside completion and a failing tool it is not closing": Row(
        calls=(SLAM, COMPLETE),
        second={"text": "Locked, alas.", "calls": [COMPLETE]},
        whole=["[slam]", "Locked, alas."],
        whole_kinds=[CLOSING],
        stream=["Text.", "[slam]", "Locked, alas."],
        stream_kinds=[FILLER, CLOSING],
        off=["[slam]", "Locked, alas."],
        off_kinds=[CLOSING],
        status="completed",
    ),
    "beside slots that complete it is dropped, unless streamed": Row(
        calls=(SIZE,),
        conditions=tuple(CONDITIONS),
        whole=[],
        whole_kinds=[],
        stream=["Text."],
        stream_kinds=[FILLER],
        off=[],
        off_kinds=[],
        status="completed",
    ),
    "beside slots that do not complete it is filler": Row(
        calls=(SIZE,),
        conditions=(*CONDITIONS, "slots.amount > 0"),
        whole=["Text.", "More."],
        whole_kinds=[FILLER, QUESTION],
        off=["More."],
        off_kinds=[QUESTION],
    ),
    "beside slots and a tool it is filler": Row(
        calls=(SIZE, KNOCK),
        conditions=(*CONDITIONS, "slots.amount > 0"),
        whole=["Text.", "[knock]", "More."],
        whole_kinds=[FILLER, QUESTION],
        off=["[knock]", "More."],
        off_kinds=[QUESTION],
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_d3_9_where_texts_are_shown_whole(
    project: Project, script: Script, door: Door, row: Row
) -> None:
    output = await _turn(project, script, door, row, Whole(), fillers=True)
    _check(door, output, row.whole, row.whole_kinds, row.status)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_d3_9_where_texts_are_shown_as_they_come(
    project: Project, script: Script, door: Door, row: Row
) -> None:
    output = await _turn(project, script, door, row, Streaming(), fillers=True)
    stream = row.whole if row.stream is None else row.stream
    kinds = row.whole_kinds if row.stream_kinds is None else row.stream_kinds
    _check(door, output, stream, kinds, row.status)


@pytest.mark.parametrize("channel", [Whole, Streaming])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_d3_9_without_fillers(
    project: Project, script: Script, door: Door, row: Row, channel: type[Whole]
) -> None:
    output = await _turn(project, script, door, row, channel(), fillers=False)
    _check(door, output, row.off, row.off_kinds, row.status)


async def _turn(
    project: Project, script: Script, door: Door, row: Row, channel: Whole, *, fillers: bool
) -> Any:
    script(
        {"when": {**AGENTS, "last": "user"}, "answer": {"text": "Text.", "calls": row.calls}},
        {"when": {**AGENTS, "last": "tool"}, "answer": row.second},
    )
    door.opened.set()
    name = "Booking" if row.conditions else "Knocking"
    with_class = project.with_agent(
        module=f"tests.host.channels.agent.{name}", enable_filler_messages=fillers
    )
    slots = [slot("size"), slot("amount", type="float")]
    more = {"exit_if": list(row.conditions)} if row.conditions else {}
    async with agent_at_work(with_class, task=bool(row.conditions)) as agent:
        given = agent_input(slots=slots, **more)
        return await take_turn(agent, given, output_channel=channel)


def _check(door: Door, output: Any, heard: list[str], kinds: list[str], status: str) -> None:
    assert door.heard == heard
    recorded = [event for event in output.events if event.type_name in {"bot", "mcp_tool_executed"}]
    told = [e.text if e.type_name == "bot" else f"[{e.tool_name}]" for e in recorded]
    assert told == heard, "the record has what was heard, in the same order"
    uttered = [event for event in recorded if event.type_name == "bot"]
    assert [event.metadata["agent_message_type"] for event in uttered] == kinds
    assert output.status.value == status
