"""The probe, as people and other people's suites use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.mcp_pool.probe import main
from tests.mcp_pool.mcp_server import Served, free_port

CHILD = f"{sys.executable} {Path(__file__).with_name('stdio_server.py')}"


def probe(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_it_lists_what_a_server_has(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = probe(capsys, server.url)
    assert code == 0
    assert found["server"]["name"] == "shop"
    assert [tool["name"] for tool in found["tools"]] == ["echo", "order", "slow", "fail", "change"]
    assert (found["resources"], found["prompts"]) == ([], [])
    assert found["protocol"] == "2025-11-25"


def test_it_calls_a_tool_of_a_url_with_headers_and_metadata(
    server: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k3y")
    code, found, err = probe(
        capsys,
        server.url,
        *("--call", "echo", "--arguments", '{"text": "日本"}', "--meta", '{"a": 1}'),
        *("--header", "x-api-key: $KEY"),
    )
    assert code == 0
    assert found["result"]["text"] == "日本"
    assert "k3y" not in json.dumps(found) + err


def test_it_calls_a_tool_of_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found, _ = probe(
        capsys,
        CHILD,
        *("--call", "variable", "--arguments", '{"name": "COLOUR"}'),
        *("--env", "COLOUR=blue", "--cwd", str(tmp_path)),
    )
    assert (code, found["result"]["text"]) == (0, "blue")


def test_what_a_command_writes_to_standard_error_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found, err = probe(capsys, f"{CHILD} crash")
    assert code == 5
    assert "exit code 3" in found["error"]
    assert "stderr: no licence" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--call", "fail"], 1),
        (["--call", "nothing"], 4),
        (["--sse"], 5),
    ],
)
def test_exit_codes_tell_what_went_wrong(
    server: Served, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    assert probe(capsys, server.url, *arguments)[0] == code


def test_a_server_that_is_not_there_is_exit_code_5(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = probe(capsys, f"http://127.0.0.1:{free_port()}/mcp", "--client-id", "me")
    assert code == 5
    assert "cannot connect" in found["error"]


def test_the_help_says_how_to_call_a_tool(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert 'URL --call TOOL --arguments \'{"name": "value"}\'' in shown


def test_it_runs_as_a_module(server: Served) -> None:
    command = [sys.executable, "-m", "rasa_react_ext.mcp_pool", server.url, "--call", "fail"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "card blocked" in json.loads(done.stdout)["result"]["text"]


def test_it_asks_for_tokens(
    server: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_CLIENT_SECRET", "s3cret")
    code, found, _ = probe(capsys, server.url, "--token-url", server.url, "--client-id", "me")
    assert code == 5
    assert "the token endpoint answered HTTP" in found["error"]
    assert "s3cret" not in json.dumps(found)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [""],
        ["http://x", "--arguments", "[]"],
        ["http://x", "--meta", "{"],
        ["http://x", "--header", "no separator"],
    ],
)
def test_wrong_use_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage" in capsys.readouterr().err
