"""Servers that are child processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, PoolEvent, ServerSpec, stdio
from tests.mcp_pool.steps import named, until

PROGRAM = str(Path(__file__).with_name("stdio_server.py"))


def child(*args: str, **more: Any) -> ServerSpec:
    return ServerSpec(
        name="child",
        transport="stdio",
        command=sys.executable,
        args=(PROGRAM, *args),
        connect_timeout_seconds=30,
        **more,
    )


async def say(tools: PooledTools, name: str, /, **arguments: Any) -> str:
    context = CallContext(call_id="c", timeout_seconds=30)
    return (await tools.call(await named(tools, name), arguments, context)).text


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_a_child_gets_its_environment_and_directory_and_nothing_secret(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "s3cret")
    tools = PooledTools(pool, child(env={"COLOUR": "blue"}, cwd=str(tmp_path)))
    assert await say(tools, "variable", name="COLOUR") == "blue"
    assert await say(tools, "variable", name="OUR_SECRET") == "(unset)"
    assert await say(tools, "variable", name="PATH") == os.environ["PATH"]
    assert await say(tools, "directory") == str(tmp_path)


async def test_standard_error_of_a_child_is_reported(pool: Pool, reported: list[PoolEvent]) -> None:
    tools = PooledTools(pool, child())
    await say(tools, "complain", text="disk is full: ü")
    await until(lambda: "disk is full: ü" in [e.text for e in reported if e.kind == "stderr"])


async def test_a_large_answer_on_one_line_arrives_whole(pool: Pool) -> None:
    assert await say(PooledTools(pool, child()), "big", size=3_000_000) == "ü" * 3_000_000


async def test_an_answer_larger_than_memory_allows_ends_the_session(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MAX_MESSAGE_BYTES", 100_000)
    assert "too large" in await say(PooledTools(pool, child()), "big", size=300_000)


async def test_text_on_standard_output_is_reported_and_does_no_harm(
    pool: Pool, reported: list[PoolEvent]
) -> None:
    tools = PooledTools(pool, child("chatty"))
    assert (await say(tools, "pid")).isdecimal()
    assert "bad_message" in [event.kind for event in reported]


async def test_b56_a_child_that_dies_during_a_call_is_a_lost_connection(pool: Pool) -> None:
    tools = PooledTools(pool, child())
    first = await say(tools, "pid")
    context = CallContext(call_id="c", timeout_seconds=30)
    result = await tools.call(await named(tools, "die"), {}, context)
    assert result.outcome_unknown
    assert "ended with exit code 7" in result.text
    assert await say(tools, "pid") != first, "the next call starts a new child"


async def test_b56_a_server_that_hangs_costs_its_calls_and_serves_again_afterwards(
    pool: Pool,
) -> None:
    tools = PooledTools(pool, child("plain"))
    pid = int(await say(tools, "pid"))
    tool = await named(tools, "pid")
    os.kill(pid, signal.SIGSTOP)
    try:
        context = CallContext(call_id="c", timeout_seconds=0.5)
        results = await asyncio.gather(*(tools.call(tool, {}, context) for _ in range(20)))
        assert all("no answer within 0.5 s" in result.text for result in results)
        assert all(result.outcome_unknown for result in results)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert int(await say(tools, "pid")) == pid


async def test_b62_a_child_that_ignores_every_polite_end_is_gone_after_close() -> None:
    async with Pool() as pool:
        tools = PooledTools(pool, child("stubborn"))
        pid = int(await say(tools, "pid"))
        grandchild = int(await say(tools, "have_child"))
        assert alive(pid)
        assert alive(grandchild)
    assert not alive(pid)
    assert not alive(grandchild)


async def test_b62_no_child_is_left_after_ten_rounds() -> None:
    pids: list[int] = []
    async with Pool() as pool:
        for _ in range(10):
            tools = PooledTools(pool, child())
            pids.append(int(await say(tools, "pid")))
            pids.append(int(await say(tools, "have_child")))
            await pool.aclose()
    assert [pid for pid in pids if alive(pid)] == []
    assert len(set(pids)) == 20


async def test_b62_a_crash_during_initialize_is_named_and_leaves_nothing(
    pool: Pool, reported: list[PoolEvent]
) -> None:
    tools = PooledTools(pool, child("crash", max_retries=0))
    assert await tools.tools() == ()
    assert "ended with exit code 3" in tools.missing()[0]
    assert "no licence" in [event.text for event in reported if event.kind == "stderr"]


async def test_b62_closing_before_the_connect_is_done_leaves_no_child() -> None:
    async with Pool() as pool:
        tools = PooledTools(pool, child("stubborn"))
        tools.warm()
        await asyncio.sleep(0.05)
    assert tools.state().status == "idle"


async def test_a_program_that_is_not_there_is_named(pool: Pool) -> None:
    spec = ServerSpec(name="x", transport="stdio", command="no-such-program", max_retries=0)
    tools = PooledTools(pool, spec)
    assert await tools.tools() == ()
    assert "cannot start 'no-such-program'" in tools.missing()[0]


def test_b62_children_of_a_loop_that_ends_without_closing_are_gone() -> None:
    tools = PooledTools(Pool(), child("stubborn"))
    pid = int(asyncio.run(say(tools, "pid")))
    assert not alive(pid)
