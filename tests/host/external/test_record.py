"""External agents in the record of a conversation: hand-over, progress, background, result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.cli.page import read_record
from rasa_react_ext.host.observe.trace_path import trace_path
from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import remote
from tests.host.external.server import free_port, served
from tests.host.external.words import COMMANDS, external, says
from tests.host.project import Project, loaded

pytestmark = pytest.mark.host

Line = dict[str, Any]


def _lines(folder: Path) -> list[Line]:
    file = trace_path(folder, "anna")
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


async def _until(folder: Path, found: Callable[[Line], bool]) -> list[Line]:
    async with asyncio.timeout(15):
        while not any(found(line) for line in _lines(folder)):
            await asyncio.sleep(0.02)
    return _lines(folder)


def _what(lines: list[Line], turn: str) -> list[str]:
    return [line["what"] for line in lines if line["turn"] == turn]


async def test_a_turn_with_an_external_agent_is_recorded_from_hand_over_to_result(
    trading: Project, tmp_path: Path
) -> None:
    async with loaded(trading.having(section={"trace_folder": str(tmp_path)})) as agent:
        await says(agent, "start trade steps")
        await says(agent, "start trade fail")
    lines = _lines(tmp_path)
    first, second = dict.fromkeys(line["turn"] for line in lines)
    assert _what(lines, first)[:3] == ["turn_started", "agent_asked", "agent_accepted"]
    assert _what(lines, first)[-2:] == ["agent_answered", "turn_ended"]
    assert "agent_said" in _what(lines, first)
    begun, failed = lines[0], lines[-1]
    assert (begun["agent"], begun["flow"], begun["kind"]) == ("broker", "trade", "external")
    assert begun["user"] == "start trade steps"
    assert (failed["turn"], failed["outcome"]) == (second, "failed")
    assert "failed" in failed["reason"]
    shown = read_record(trace_path(tmp_path, "anna"))
    assert [bar["kind"] for turn in shown for bar in turn["bars"]] == ["agent", "agent"]


async def test_a_task_in_the_background_is_recorded_with_what_it_reports_and_its_cancel(
    project: Project, model: ModelServer, tmp_path: Path
) -> None:
    model.use(COMMANDS)
    port = free_port()
    with remote(push=True) as reporter:
        trading = external(project, reporter, push_notification_url=f"http://127.0.0.1:{port}")
        settings = {"allow_private_push_url": True, "busy": "free"}
        trading = trading.with_settings(agents={"broker": settings})
        async with served(trading.having(section={"trace_folder": str(tmp_path)}), port) as server:
            await server.says("start trade wait")
            reporter.release()
            lines = await _until(tmp_path, lambda line: line.get("outcome") == "delivered")
            begun = lines[0]["turn"]
            assert _what(lines, begun)[-2:] == ["agent_in_background", "turn_ended"]
            ended = next(li for li in lines if (li["turn"], li["what"]) == (begun, "turn_ended"))
            assert ended["outcome"] == "background"
            answer = next(line for line in lines if line["what"] == "agent_answered")
            assert (answer["state"], answer["text"]) == ("completed", "At last.")
            tasks = {line["task"] for line in lines if line["what"] == "agent_accepted"}
            assert tasks == {answer["task"]}
            kinds = [line["kind"] for line in lines if line["what"] == "turn_started"]
            assert kinds[0] == "external"
            assert set(kinds[1:]) == {"deliver_report"}

            await server.says("start trade wait")
            await server.says("cancel")
            lines = await _until(tmp_path, lambda line: line.get("kind") == "cancel_task")
            await _until(tmp_path, lambda line: line.get("outcome") == "cancelled")


async def test_long_words_of_an_agent_are_cut(trading: Project, tmp_path: Path) -> None:
    words = "x" * 402  # the host takes 420 characters
    async with loaded(trading.having(section={"trace_folder": str(tmp_path)})) as agent:
        await says(agent, f"start trade echo {words}")
    text = trace_path(tmp_path, "anna").read_text(encoding="utf-8")
    assert words not in text
    assert "(402 characters)" in text
