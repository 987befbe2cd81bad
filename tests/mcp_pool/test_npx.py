"""Published servers and the published conformance suite, fetched through npx."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Pool,
    PooledTools,
    Progress,
    SamplingAnswer,
    SamplingRequest,
    ServerSpec,
)
from tests.mcp_pool.conformance_client import STEPS
from tests.mcp_pool.mcp_server import free_port
from tests.mcp_pool.steps import named

pytestmark = [pytest.mark.npx, pytest.mark.timeout(300)]

EVERYTHING = ["-y", "@modelcontextprotocol/server-everything"]
FILESYSTEM = ["-y", "@modelcontextprotocol/server-filesystem"]
# The suite needs a newer node than many machines have; npx fetches that too.
SUITE = ["-y", "-p", "node@22", "-p", "@modelcontextprotocol/conformance", "conformance", "client"]
DRIVER = Path(__file__).with_name("conformance_client.py")
ROOT = DRIVER.parents[2]
CONTEXT = CallContext(call_id="c", timeout_seconds=60)


async def say(tools: PooledTools, name: str, /, **arguments: Any) -> str:
    result = await tools.call(await named(tools, name), arguments, CONTEXT)
    assert not result.is_error, result.text
    return result.text


@asynccontextmanager
async def everything_over(transport: str, npx: str) -> AsyncIterator[ServerSpec]:
    """The everything server, reached over one transport."""
    if transport == "stdio":
        yield ServerSpec(
            name="everything",
            transport="stdio",
            command=npx,
            args=(*EVERYTHING, "stdio"),
            env={"HOME": os.environ["HOME"]},
            connect_timeout_seconds=180,
        )
        return
    port = free_port()
    kind, path = ("streamableHttp", "/mcp") if transport == "http" else ("sse", "/sse")
    process = subprocess.Popen(  # noqa: ASYNC220
        [npx, *EVERYTHING, kind],
        env={**os.environ, "PORT": str(port)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await _listening(port)
        url = f"http://127.0.0.1:{port}{path}"
        yield ServerSpec(name="everything", transport=transport, url=url)  # type: ignore[arg-type]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


async def _listening(port: int) -> None:
    async with asyncio.timeout(180), httpx.AsyncClient() as client:
        while True:
            try:
                await client.get(f"http://127.0.0.1:{port}/")
            except httpx.ConnectError:
                await asyncio.sleep(0.2)
            else:
                return


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_the_everything_server_is_used_over_every_transport(transport: str, npx: str) -> None:
    asked: list[object] = []

    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        asked.append(request)
        return ElicitationAnswer(action="decline")

    async def sample(request: SamplingRequest) -> SamplingAnswer:
        asked.append(request)
        return SamplingAnswer(text="a sample", model="m")

    callbacks = Callbacks(elicit=elicit, sample=sample, progress=asked.append)
    async with (
        everything_over(transport, npx) as spec,
        Pool(callbacks=callbacks) as pool,
    ):
        tools = PooledTools(pool, spec)
        names = {tool.name for tool in await tools.tools()}
        assert {"echo", "get-sum", "get-tiny-image"} <= names, sorted(names)
        assert "grüße" in await say(tools, "echo", message="grüße")
        assert "7" in await say(tools, "get-sum", a=3, b=4)
        assert "[image: image/png" in await say(tools, "get-tiny-image")
        structured = await say(tools, "get-structured-content", location="Chicago")
        assert "temperature" in structured
        await say(tools, "trigger-long-running-operation", duration=1, steps=2)
        assert [report.done for report in asked if isinstance(report, Progress)] == [1, 2]
        assert "a sample" in await say(tools, "trigger-sampling-request", prompt="p", maxTokens=9)
        assert await say(tools, "trigger-elicitation-request")
        kinds = {type(report) for report in asked}
        assert kinds == {Progress, SamplingRequest, ElicitationRequest}


async def test_the_filesystem_server_reads_and_writes_only_where_it_may(
    npx: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("日本", encoding="utf-8")
    spec = ServerSpec(
        name="files",
        transport="stdio",
        command=npx,
        args=(*FILESYSTEM, str(tmp_path)),
        connect_timeout_seconds=180,
    )
    async with Pool() as pool:
        tools = PooledTools(pool, spec)
        assert await say(tools, "read_text_file", path=str(tmp_path / "a.txt")) == "日本"
        await say(tools, "write_file", path=str(tmp_path / "b.txt"), content="new")
        assert (tmp_path / "b.txt").read_text() == "new"
        write = await named(tools, "write_file")
        refused = await tools.call(write, {"path": "/etc/x", "content": ""}, CONTEXT)
        assert refused.is_error
        assert "denied" in refused.text
        assert (await named(tools, "read_text_file")).read_only
        assert not write.read_only


# The other scenarios under auth/ want a person at a browser (authorization code), dynamic
# registration or an identity provider's token; a bot has none of these.
CREDENTIALS = ["auth/client-credentials-basic", "auth/client-credentials-jwt"]


@pytest.mark.parametrize("scenario", [*STEPS, *CREDENTIALS])
def test_the_conformance_suite_passes(scenario: str, npx: str, tmp_path: Path) -> None:
    command = f"{sys.executable} {DRIVER} {scenario}"
    done = subprocess.run(
        [npx, *SUITE, "--scenario", scenario, "--command", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "OVERALL: PASSED" in done.stdout + done.stderr, _short(done.stdout + done.stderr)
    assert done.returncode == 0


def _short(text: str) -> str:
    return "\n".join(line[:200] for line in text.splitlines()[-30:])
