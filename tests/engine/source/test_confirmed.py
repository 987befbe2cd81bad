"""Consent before tools that may destroy something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rasa_react_ext.engine.source import Confirmations, Confirmed, Verdict
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
        return (await self.result(tool, **arguments)).text

    async def result(self, tool: Tool = DELETE, **arguments: Any) -> ToolResult:
        source = Confirmed(self.journal, self.consents, lambda tool, given: f"{tool.name} {given}?")
        return await source.call(tool, arguments, CONTEXT)

    def user(self, verdict: Verdict) -> str:
        """What the model is told about the call that was asked about."""
        self.consents = Confirmations.from_json(self.consents.to_json())
        heard = self.consents.heard(verdict)
        if heard is None:
            return ""
        assert heard[0] == CONTEXT.call_id
        return heard[1]

    @property
    def ran(self) -> int:
        return len(self.journal.ran)


async def test_tools_that_destroy_nothing_run_at_once() -> None:
    dialogue = Dialogue()
    assert await dialogue.call(LOOK) == "done"
    guarded = Confirmed(dialogue.journal, dialogue.consents, lambda tool, given: "?")
    assert await guarded.tools() == (DELETE, LOOK)


async def test_yes_lets_exactly_this_call_run_exactly_once() -> None:
    dialogue = Dialogue()
    asked = await dialogue.result(id=1)
    assert (asked.is_error, asked.question) == (True, "delete {'id': 1}?")
    assert "asked for consent" in asked.text
    assert dialogue.ran == 0
    assert "has now agreed" in dialogue.user("yes")
    assert "asked for consent" in await dialogue.call(id=2), "consent to one call is no other's"
    dialogue.user("no")
    assert "asked for consent" in await dialogue.call(id=1)
    dialogue.user("yes")
    assert await dialogue.result(id=1) == ToolResult(text="done")
    assert "asked for consent" in await dialogue.call(id=1)
    assert dialogue.journal.ran == [("delete", {"id": 1})]


@pytest.mark.parametrize(
    ("verdict", "told"),
    [("no", "did not agree"), ("other", "did not give it"), ("away", "went elsewhere")],
)
async def test_no_silence_and_another_topic_mean_not_run_and_the_model_is_told(
    verdict: Verdict, told: str
) -> None:
    dialogue = Dialogue()
    await dialogue.call(id=1)
    assert told in dialogue.user(verdict)
    assert dialogue.user("yes") == "", "a yes to nothing is consent to nothing"
    assert "asked for consent" in await dialogue.call(id=1)
    assert dialogue.ran == 0


async def test_a_call_the_user_has_just_refused_is_not_asked_about_again_at_once() -> None:
    dialogue = Dialogue()
    await dialogue.call(id=1)
    dialogue.user("no")
    refused = await dialogue.result(id=1)
    assert (refused.is_error, refused.question) == (True, "")
    assert "did not agree" in refused.text
    dialogue.user("other")
    assert "asked for consent" in await dialogue.call(id=1), "asked anew when it comes up again"


async def test_a_second_pending_call_waits_for_the_first_question() -> None:
    dialogue = Dialogue()
    assert (await dialogue.result(id=1)).question
    second = await dialogue.result(id=2)
    assert (second.is_error, second.question) == (True, "")
    assert "another action" in second.text
    dialogue.user("yes")
    assert await dialogue.call(id=1) == "done"
    assert (await dialogue.result(id=2)).question
    dialogue.user("yes")
    assert await dialogue.call(id=2) == "done"
    assert [arguments for _, arguments in dialogue.journal.ran] == [{"id": 1}, {"id": 2}]


async def test_consent_that_was_not_used_in_its_turn_is_gone() -> None:
    dialogue = Dialogue()
    await dialogue.call(id=1)
    dialogue.user("yes")
    dialogue.user("other")
    assert (await dialogue.result(id=1)).question
    assert dialogue.ran == 0


def test_a_memory_that_cannot_be_read_means_that_nothing_was_asked() -> None:
    assert Confirmations.from_json({"pending": 7, "call_id": "c"}).pending == ""
    assert Confirmations.from_json({"pending": "x"}).pending == ""
    assert Confirmations().to_json() == {}
