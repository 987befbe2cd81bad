"""Files that cannot be read, or hold no keys; and what the settings name: files and programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.host.inspection.mistake import AGENT, FLOW
from tests.host.project import hosts_own_warnings

Edit = Callable[[str, str, str], None]


@pytest.mark.parametrize("text", ["", "- nothing\n", "nothing\n"])
@pytest.mark.parametrize(
    ("file", "needs"),
    [
        ("config.yml", "policies:"),
        ("endpoints.yml", "model_groups:"),
        (AGENT, "description"),
    ],
)
def test_a_file_that_is_empty_or_holds_something_else_is_told_once_with_what_it_needs(
    file: str, needs: str, text: str, sample: Path
) -> None:
    (sample / file).write_text(text, encoding="utf-8")
    (finding,) = _inspected(connect=False).findings
    assert (finding.level, finding.file) == ("error", file)
    assert ("must hold keys" if text else "is empty") in finding.problem
    assert finding.line == (1 if text else None)
    assert needs in finding.fix


@pytest.mark.parametrize("text", ["", "- nothing\n", "nothing\n"])
def test_channels_that_are_no_keys_are_no_traceback(text: str, sample: Path) -> None:
    (sample / "credentials.yml").write_text(text, encoding="utf-8")
    found = _inspected(connect=False).findings
    assert found or not text


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        (b"# caf\xe9", "not UTF-8", "Save the file as UTF-8."),
        ("# café \a".encode(), "control character '\\x07'", "Correct the YAML there."),
    ],
)
@pytest.mark.parametrize("file", ["config.yml", "endpoints.yml", "domain.yml", AGENT, FLOW])
def test_a_file_with_characters_that_cannot_be_read_is_told_with_their_line(
    file: str, text: bytes, problem: str, fix: str, sample: Path
) -> None:
    path = sample / file
    path.write_bytes(b"# one\n" + text + b"\n" + path.read_bytes())
    (finding,) = _inspected(connect=False).findings
    assert (finding.file, finding.line) == (file, 2)
    assert problem in finding.problem
    assert finding.fix.startswith(fix)


def test_files_that_the_server_channel_names_and_that_are_not_there_are_told_together(
    sample: Path, edit: Edit
) -> None:
    entry = """rest:

rasa_react_ext.channels.A2AServer:
  description: A desk.
  agent_card_path: nope.json
  card_signing: {private_key_path: nope.pem, key_id: a}
  auth: {jwt: {public_key_path: nope.pub}}
  grpc: {port: 5, certificate_path: a.pem, private_key_path: b.pem}
  encryption_key: nope
"""
    edit("credentials.yml", "rest:", entry)
    found = [
        finding for finding in _inspected(connect=False).findings if "session" not in finding.key
    ]
    lines = (sample / "credentials.yml").read_text(encoding="utf-8").splitlines()
    for finding in found:
        place = finding.key.split(": ")[-1]
        assert (finding.level, finding.file) == ("error", "credentials.yml")
        assert place in lines[finding.line - 1]
    assert {finding.key.partition(": ")[2] for finding in found} == {
        "agent_card_path",
        "auth: jwt: public_key_path",
        "card_signing: private_key_path",
        "encryption_key",
        "grpc: private_key_path",
    }


def test_places_that_can_be_written_are_left_as_they_were(sample: Path, edit: Edit) -> None:
    ours = "rasa_react_ext:\n  store: new/x.db\n  trace_folder: other/traces\nmcp_servers:"
    edit("endpoints.yml", "mcp_servers:", ours)
    assert _inspected(connect=False).findings == []
    assert not (sample / "new").exists()
    assert not (sample / "other").exists()


@pytest.mark.parametrize("command", ["nosuchprog", "${NO_SUCH_PROGRAM}"])
def test_a_program_that_is_not_there_is_told_although_nobody_is_asked(
    command: str, sample: Path, edit: Edit
) -> None:
    way = f"market: {{transport: stdio, command: '{command}'}}"
    edit(
        "endpoints.yml", "mcp_servers:", f"rasa_react_ext: {{mcp_servers: {{{way}}}}}\nmcp_servers:"
    )
    (finding,) = _inspected(connect=False).findings
    assert (
        finding.problem
        == {
            "nosuchprog": "there is no program 'nosuchprog'.",
            "${NO_SUCH_PROGRAM}": "the environment variable NO_SUCH_PROGRAM is not set.",
        }[command]
    )


def _inspected(*, connect: bool = True) -> Any:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        return asyncio.run(inspect_project(domain="domain.yml", data=["flows"], connect=connect))
