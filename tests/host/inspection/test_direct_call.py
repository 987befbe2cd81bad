"""Steps that call a tool of a server themselves, in projects whose servers are not as usual."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.host.inspection.broken_call import ACTION, FLOW, call
from tests.host.inspection.mistake import URL
from tests.host.project import hosts_own_warnings

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import Finding

Edit = Callable[[str, str, str], None]


def test_a_way_to_a_server_that_the_host_does_not_know_is_told(sample: Path, edit: Edit) -> None:
    edit(FLOW, ACTION, call())
    reach = "rasa_react_ext:\n  mcp_servers:\n    market: {transport: sse}\n"
    edit("endpoints.yml", "mcp_servers:", f"{reach}mcp_servers:")
    told = [finding for finding in _found(connect=False) if finding.level == "error"]
    assert [finding.file for finding in told] == [FLOW]
    assert "not over sse" in told[0].problem


def test_a_server_that_is_down_is_told_once_and_none_of_its_names_is_blamed(
    sample: Path, edit: Edit
) -> None:
    edit("endpoints.yml", URL, "http://127.0.0.1:9/mcp")
    edit(FLOW, ACTION, call(tool="zzz"))
    (finding,) = _found()
    assert (finding.level, finding.key) == ("warning", "mcp_servers: market: url")


def test_a_server_that_no_agent_has_is_asked_as_well(market: str, sample: Path, edit: Edit) -> None:
    edit(
        "endpoints.yml",
        "mcp_servers:",
        f"mcp_servers:\n  - {{name: own, url: '{market}', type: http}}",
    )
    edit(FLOW, ACTION, call(tool="zzz", server="own"))
    (finding,) = _found()
    assert finding.problem == "MCP server 'own' has no tool 'zzz'."


def _found(*, connect: bool = True) -> Sequence[Finding]:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        found = asyncio.run(inspect_project(domain="domain.yml", data=["flows"], connect=connect))
    return found.findings
