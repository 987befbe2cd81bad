"""The action that says what a remote agent reported last."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from rasa_sdk import Tracker
from rasa_sdk.executor import CollectingDispatcher

from rasa_react_ext.actions import STORE_VARIABLE, ActionSubAgentStatus
from rasa_react_ext.store import Database, RemoteTask, RemoteTasks

pytestmark = pytest.mark.host


@pytest.fixture
async def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RemoteTasks]:
    """The tasks in a store that is named by the environment."""
    url = str(tmp_path / "store.db")
    monkeypatch.setenv(STORE_VARIABLE, url)
    database = Database(url)
    yield RemoteTasks(database)
    await database.aclose()


async def said(domain: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    dispatcher = CollectingDispatcher()
    tracker = Tracker("anna", {}, {}, [], False, None, {}, "action_listen")
    await ActionSubAgentStatus().run(dispatcher, tracker, domain or {})
    return dispatcher.messages


async def test_it_says_what_was_reported_last_and_since_when(tasks: RemoteTasks) -> None:
    row = RemoteTask(key="k", conversation="anna", agent="broker", background=True)
    await tasks.add(row)
    assert [m["text"] for m in await said()] == ["broker has been working for less than a minute."]
    await tasks.update("k", said="Half done.", said_at=time.time() - 125)
    assert [m["text"] for m in await said()] == ["broker said 2 minutes ago: Half done."]
    (message,) = await said({"responses": {"utter_sub_agent_status": []}})
    assert message["response"] == "utter_sub_agent_status"
    assert (message["agent"], message["said"], message["minutes"]) == ("broker", "Half done.", 2)


async def test_it_says_that_nothing_runs(tasks: RemoteTasks) -> None:
    await tasks.add(RemoteTask(key="k", conversation="bert", agent="broker", background=True))
    await tasks.add(RemoteTask(key="l", conversation="anna", agent="broker"))
    assert "Nothing is running" in (await said())[0]["text"]
