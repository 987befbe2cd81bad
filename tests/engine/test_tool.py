from __future__ import annotations

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.message import TokenUsage
from rasa_react_ext.engine.tool import Tool
from tests.engine.fake import tool


def test_a_definition_is_strict_only_where_the_tool_is() -> None:
    schema = {"type": "object", "properties": {}}
    strict = Tool(name="a", description="A.", parameters=schema, strict=True).definition()
    assert strict == {
        "type": "function",
        "function": {"name": "a", "description": "A.", "parameters": schema, "strict": True},
    }
    assert "strict" not in tool("a").definition()["function"]


def test_only_tools_that_say_so_may_be_called_again() -> None:
    assert tool("a", read_only=True).repeatable
    assert tool("a", idempotent=True).repeatable
    assert not tool("a", destructive=True).repeatable


def test_tokens_are_counted_together() -> None:
    assert TokenUsage(prompt=2, completion=3).total == 5


def test_the_closing_line_is_asked_for_without_tools() -> None:
    assert "No tool calls" in wording.completion_request()
