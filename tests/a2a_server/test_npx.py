"""The published JavaScript client completes a conversation with stream, push and cancel."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from tests.a2a_server.serving import server
from tests.a2a_server.test_push import PUSH, inbox

pytestmark = [pytest.mark.npx, pytest.mark.timeout(300)]

SCRIPT = Path(__file__).with_name("js_client.mjs")


async def _run(*command: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 200)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()[-3000:]
    return out.decode()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, npx: str) -> Path:
    """A folder with the client installed."""
    folder = tmp_path_factory.mktemp("js")
    (folder / "package.json").write_text('{"private": true}')
    npm = str(Path(npx).with_name("npm"))
    quiet = ("--no-audit", "--no-fund", "--silent")
    asyncio.run(_run(npm, "install", *quiet, "@a2a-js/sdk", cwd=folder))
    return folder


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
async def test_a_conversation_through_the_javascript_client(
    tmp_path: Path, package: Path, transport: str
) -> None:
    node = shutil.which("node")
    assert node is not None
    async with inbox() as box, server(str(tmp_path / "s.db"), **PUSH) as served:
        said = await _run(node, str(SCRIPT), served.url, transport, box.url, cwd=package)
        result = json.loads(said.splitlines()[-1])
        await box.states()

    assert result["kinds"][0] == "task"
    assert result["kinds"][-1] == "statusUpdate"
    assert result["streamed"] == "One two three."
    assert result["done"] == "TASK_STATE_COMPLETED"
    assert result["canceled"] == "TASK_STATE_CANCELED"
    assert box.got[0][0]["x-a2a-notification-token"] == "js"
