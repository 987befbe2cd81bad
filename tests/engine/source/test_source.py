"""Wrappers around tool sources: filter, names, combination, limit."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine.source import Combined, Filtered, Named, safe_name
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

CONTEXT = CallContext(call_id="c", timeout_seconds=5)


class Fixed:
    """A source that answers each call with the name it was called by."""

    def __init__(self, *names: str, origin: str = "s", seconds: float = 0) -> None:
        self.listed: Sequence[Tool] = tuple(
            Tool(name=name, description="", parameters={}, origin=origin, origin_name=name)
            for name in names
        )
        self.origin = origin
        self.seconds = seconds
        self.limits: list[float] = []

    async def tools(self) -> Sequence[Tool]:
        return self.listed

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        self.limits.append(context.timeout_seconds)
        await asyncio.sleep(self.seconds)
        return ToolResult(text=f"{self.origin}:{tool.name}")

    def missing(self) -> Sequence[str]:
        return (f"{self.origin}: away",)


async def names(source: Any) -> list[str]:
    return [tool.name for tool in await source.tools()]


async def call(source: Any, name: str) -> str:
    tool = {tool.name: tool for tool in await source.tools()}[name]
    return (await source.call(tool, {}, CONTEXT)).text


async def test_a_filter_includes_or_excludes_by_the_name_at_the_server() -> None:
    assert await names(Filtered(Fixed("a", "b", "c"), include=["a", "c"])) == ["a", "c"]
    assert await names(Filtered(Fixed("a", "b", "c"), exclude=["a"])) == ["b", "c"]
    assert await names(Filtered(Named(Fixed("a.b", "c")), include=["a.b"])) == ["a_b"]
    assert await names(Filtered(Fixed("a"))) == ["a"]
    assert await call(Filtered(Fixed("a", "b"), include=["a"]), "a") == "s:a"
    with pytest.raises(ValueError, match="not both"):
        Filtered(Fixed(), include=["a"], exclude=["b"])


async def test_a_wrapper_derives_its_tools_only_when_the_list_is_another() -> None:
    source = Fixed("a", "b")
    wrapped = Combined([Named(Filtered(source, include=["a"]))])
    first = await wrapped.tools()
    assert await wrapped.tools() is first
    source.listed = (*source.listed[:1],)
    assert await wrapped.tools() is not first


async def test_b43_refused_characters_are_mapped_for_the_model_and_back_for_the_server() -> None:
    source = Named(Fixed("calendar.get_event", "fs/read file", "über.tool", "工具"))
    offered = await names(source)
    assert offered[:3] == ["calendar_get_event", "fs_read_file", "uber_tool"]
    assert offered[3].startswith("tool_")
    assert await call(source, "fs_read_file") == "s:fs/read file"
    assert await call(source, offered[3]) == "s:工具"


async def test_b43_names_that_become_equal_are_told_apart() -> None:
    source = Named(Fixed("a.b", "a/b", "a_b"))
    offered = await names(source)
    assert len(set(offered)) == 3
    assert offered[2] == "a_b"
    assert [await call(source, name) for name in offered] == ["s:a.b", "s:a/b", "s:a_b"]


async def test_b45_long_names_are_shortened_with_a_stable_mark() -> None:
    long = ["x" * 65 + "aaaaa", "x" * 65 + "bbbbb"]
    source = Named(Fixed(*long))
    offered = await names(source)
    assert offered == ["x" * 55 + "_38ab51b2", "x" * 55 + "_eef315dd"]
    assert all(len(name) == 64 for name in offered)
    assert [await call(source, name) for name in offered] == [f"s:{name}" for name in long]


@given(st.text())
def test_every_name_becomes_one_that_providers_accept(name: str) -> None:
    safe = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", safe)
    assert safe_name(safe) == safe


async def test_b41_a_name_of_two_servers_is_prefixed_on_both_sides_and_routed_home() -> None:
    source = Combined(
        [Fixed("create_issue", "x", origin="github"), Fixed("create_issue", origin="linear")]
    )
    assert await names(source) == ["github__create_issue", "x", "linear__create_issue"]
    assert await call(source, "linear__create_issue") == "linear:create_issue"
    assert await call(source, "github__create_issue") == "github:create_issue"


async def test_b41_a_hidden_tool_makes_no_clash() -> None:
    hidden = Filtered(Fixed("create_issue", "y", origin="linear"), exclude=["create_issue"])
    source = Combined([Fixed("create_issue", origin="github"), hidden])
    assert await names(source) == ["create_issue", "y"]


async def test_b41_a_name_keeps_its_prefix_while_the_other_server_is_down() -> None:
    linear = Fixed("create_issue", origin="linear")
    source = Combined([Fixed("create_issue", origin="github"), linear])
    await source.tools()
    linear.listed = ()
    assert await names(source) == ["github__create_issue"]


async def test_b41_a_tool_without_a_server_keeps_its_name() -> None:
    source = Combined([Fixed("a", origin=""), Fixed("a", origin="s"), Fixed("a", origin="")])
    offered = await names(source)
    assert offered[:2] == ["a", "s__a"]
    assert len(set(offered)) == 3


async def test_calling_a_tool_nobody_has_is_an_error_result() -> None:
    result = await Combined([]).call(Tool(name="x", description="", parameters={}), {}, CONTEXT)
    assert result.is_error


async def test_what_is_missing_anywhere_is_missing_in_the_combination() -> None:
    source = Combined([Named(Fixed(origin="a")), Fixed(origin="b")])
    assert source.missing() == ("a: away", "b: away")
