"""Large results: cut for the model, whole for everybody else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rasa_react_ext.engine.source import (
    READ_RESULT,
    Bounded,
    Combined,
    ResultStore,
    StoredResults,
)
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

CONTEXT = CallContext(call_id="c", timeout_seconds=5)
TOOL = Tool(name="t", description="", parameters={})


class Speaker:
    """Says the text in the arguments, once all expected calls are there."""

    def __init__(self, together: int = 1) -> None:
        self._barrier = asyncio.Barrier(together)

    async def tools(self) -> Sequence[Tool]:
        return (TOOL,)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        await self._barrier.wait()
        return ToolResult(text=arguments["text"])

    def missing(self) -> Sequence[str]:
        return ()


async def test_b76_a_large_result_shows_head_and_tail_and_how_to_read_the_rest() -> None:
    store = ResultStore()
    source = Bounded(Speaker(), store, max_chars=1_000)
    text = "".join(f"{number:08d} " for number in range(500_000))
    result = await source.call(TOOL, {"text": text}, CONTEXT)
    assert len(result.text) < 1_200
    assert result.text.startswith("00000000 00000001")
    assert result.text.endswith("00499999 ")
    assert re.search(r'read_result\(id="r[0-9a-f]{10}", offset=750\)', result.text)
    assert result.whole == text


async def test_b76_small_results_are_left_alone() -> None:
    store = ResultStore()
    result = await Bounded(Speaker(), store, max_chars=1_000).call(
        TOOL, {"text": "x" * 1_000}, CONTEXT
    )
    assert result == ToolResult(text="x" * 1_000)
    assert len(store) == 0


async def test_b76_results_of_simultaneous_calls_share_the_room() -> None:
    source = Bounded(Speaker(together=4), ResultStore(), max_chars=8_000)
    results = await asyncio.gather(
        *(source.call(TOOL, {"text": "x" * 400_000}, CONTEXT) for _ in range(4))
    )
    assert sum(len(result.text) for result in results) < 9_000


async def test_b76_a_line_of_japanese_is_cut_between_characters() -> None:
    result = await Bounded(Speaker(), ResultStore(), max_chars=900).call(
        TOOL, {"text": "東京" * 100_000}, CONTEXT
    )
    shown = re.sub(r"\n\[.*\]\n", "", result.text)
    assert set(shown) == {"東", "京"}


async def test_a_stored_result_is_paged_to_its_end() -> None:
    store = ResultStore(page_chars=1_000)
    text = "".join(str(number % 10) for number in range(2_500))
    key = store.keep(text)
    read, offset = "", 0
    for _ in range(3):
        page = store.read(key, offset)
        assert not page.is_error
        read += page.text.partition("]\n")[2]
        offset = len(read)
    assert read == text
    assert "this is the end" in page.text
    assert store.read(key, 2_500).is_error
    assert store.read(key, -1).is_error
    gone = store.read("r9", 0)
    assert gone.is_error
    assert f"no longer stored. Stored results: {key}." in gone.text


async def test_the_oldest_results_are_given_up_when_room_runs_out() -> None:
    store = ResultStore(max_chars=100)
    keys = [store.keep(letter * 40) for letter in "abcd"]
    assert [store.read(key, 0).is_error for key in keys] == [True, True, False, False]
    assert not store.read(store.keep("y" * 500), 0).is_error


async def test_read_result_is_offered_once_something_was_cut() -> None:
    store = ResultStore(page_chars=100)
    source = Combined([Bounded(Speaker(), store, max_chars=1_000), StoredResults(store)])
    assert [tool.name for tool in await source.tools()] == ["t"]
    cut = await source.call(TOOL, {"text": "z" * 5_000}, CONTEXT)
    key = cut.text.partition('id="')[2].partition('"')[0]
    assert [tool.name for tool in await source.tools()] == ["t", "read_result"]
    page = await source.call(READ_RESULT, {"id": key, "offset": 4_950}, CONTEXT)
    assert page.text.endswith("z" * 50)
    assert source.missing() == ()


def test_an_id_means_the_same_text_in_every_store() -> None:
    one, other = ResultStore(), ResultStore()
    assert one.keep("a" * 100) == other.keep("a" * 100) == one.keep("a" * 100)
    assert (len(one), one.size) == (1, 100)
    assert one.keep("b" * 100) != one.keep("a" * 100)


async def test_everybody_but_the_model_gets_the_whole_text() -> None:
    source = Bounded(Speaker(), ResultStore(), max_chars=1_000)
    assert (await source.call(TOOL, {"text": "x" * 5_000}, CONTEXT)).full_text == "x" * 5_000
    assert ToolResult(text="short").full_text == "short"
