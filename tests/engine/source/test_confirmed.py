"""Consent before tools that may destroy something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from rasa_react_ext.engine.source import Confirmations, Confirmed
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

CONTEXT = CallContext(call_id="c", timeout_seconds=5)
DELETE = Tool(name="delete", description="", parameters={}, origin="s", destructive=True)
LOOK = Tool(name="look", description="", parameters={}, origin="s")


class Journal:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Mapping[str, Any]]] = []

    async def tools(self) -> Sequence[Tool]:
        return (DELETE, LOOK)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        self.ran.append((tool.name, arguments))
        return ToolResult(text="done")

    def missing(self) -> Sequence[str]:
        return ()


class Dialogue:
    """A run with a memory of consents, over several user messages."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.consents = Confirmations()

    async def call(self, tool: Tool = DELETE, **arguments: Any) -> str:
        source = Confirmed(self.journal, self.consents)
        return (await source.call(tool, arguments, CONTEXT)).text

    def user(self, verdict: Literal["yes", "no", "other"]) -> None:
        self.consents = Confirmations.from_json(self.consents.to_json())
        self.consents.heard(verdict)

    @property
    def ran(self) -> int:
        return len(self.journal.ran)


async def test_tools_that_destroy_nothing_run_at_once() -> None:
    dialogue = Dialogue()
    assert await dialogue.call(LOOK) == "done"
    assert await Confirmed(dialogue.journal, dialogue.consents).tools() == (DELETE, LOOK)


async def test_yes_lets_exactly_this_call_run_exactly_once() -> None:
    dialogue = Dialogue()
    assert "user's consent" in await dialogue.call(id=1)
    assert dialogue.ran == 0
    dialogue.user("yes")
    assert "waits" not in await dialogue.call(id=2), "consent to one call is none for another"
    dialogue.user("no")
    assert "user's consent" in await dialogue.call(id=1)
    dialogue.user("yes")
    assert await dialogue.call(id=1) == "done"
    assert "user's consent" in await dialogue.call(id=1)
    assert dialogue.journal.ran == [("delete", {"id": 1})]


@pytest.mark.parametrize("verdict", ["no", "other"])
async def test_no_silence_and_another_topic_mean_not_run_and_the_model_is_told(
    verdict: Literal["no", "other"],
) -> None:
    dialogue = Dialogue()
    await dialogue.call(id=1)
    dialogue.user(verdict)
    assert "did not agree" in await dialogue.call(id=1)
    assert dialogue.ran == 0
    dialogue.user("other")
    assert "user's consent" in await dialogue.call(id=1), "asked anew when it comes up again"


async def test_a_second_pending_call_waits_for_the_first_question() -> None:
    dialogue = Dialogue()
    assert "user's consent" in await dialogue.call(id=1)
    assert "another action" in await dialogue.call(id=2)
    dialogue.user("yes")
    assert await dialogue.call(id=1) == "done"
    assert "user's consent" in await dialogue.call(id=2)
    dialogue.user("yes")
    assert await dialogue.call(id=2) == "done"
    assert [arguments for _, arguments in dialogue.journal.ran] == [{"id": 1}, {"id": 2}]


async def test_consent_that_was_not_used_in_its_turn_is_gone() -> None:
    dialogue = Dialogue()
    await dialogue.call(id=1)
    dialogue.user("yes")
    dialogue.user("other")
    assert "user's consent" in await dialogue.call(id=1)
    assert dialogue.ran == 0


def test_a_memory_that_cannot_be_read_means_that_nothing_was_asked() -> None:
    assert Confirmations.from_json({"pending": 7}).pending == ""
    assert Confirmations().to_json() == {}
