"""The processes of a measurement: servers, and what is said when one fails."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from benchmarks.process import BenchmarkError, first_line, last_line, started


async def open_sessions(url: str) -> int:
    async with httpx.AsyncClient() as client:
        answer = await client.get(url.removesuffix("/mcp") + "/sessions")
        count: int = answer.json()["open"]
        return count


async def test_a_server_takes_its_time_to_open_a_session_and_counts_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started("-m", "benchmarks.server", "--count=2", "--initialize-ms=300", log=log) as server:
        first, second = json.loads(await asyncio.to_thread(first_line, server, log))
        async with (
            asyncio.timeout(30),
            streamable_http_client(second) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            began = time.perf_counter()
            await session.initialize()
            assert time.perf_counter() - began >= 0.3
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert names == ["wait_2", "instant_2", "read_2"]
            assert await open_sessions(second) == 1
        assert await open_sessions(second) == 0
        assert await open_sessions(first) == 0


def test_a_process_that_ends_early_is_reported_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        started("-c", "raise SystemExit('the port is taken')", log=log) as process,
        pytest.raises(BenchmarkError, match="the port is taken"),
    ):
        first_line(process, log)


def test_importing_the_engine_brings_no_package_of_the_host(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started("-m", "benchmarks.importing", "ours", log=log) as process:
        numbers = json.loads(last_line(process, log))
    assert numbers["host_packages"] == 0
    assert numbers["wall_ms"] > 0
    assert numbers["memory_mb"] > 0
