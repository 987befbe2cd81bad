"""Results of tools, as the model and the project see them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from rasa_react_ext.engine.tool import ToolResult
from rasa_react_ext.mcp_pool.result import CallAnswer, tool_result


def read(**raw: Any) -> ToolResult:
    return tool_result(CallAnswer.model_validate(raw))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_b70_an_error_is_an_error() -> None:
    result = read(content=[text("card blocked")], isError=True)
    assert (result.text, result.is_error) == ("card blocked", True)
    assert read(content=[], isError=True).text == "The tool failed and did not say why."


def test_b71_structured_content_is_shown_when_text_is_missing_and_kept_unchanged() -> None:
    result = read(content=[], structuredContent={"price": 3, "ok": True, "none": None})
    assert result.text == '{"price": 3, "ok": true, "none": null}'
    assert result.value == {"price": 3, "ok": True, "none": None}
    assert read(structuredContent={"price": 3}).value == {"price": 3}


def test_b71_an_error_with_only_structured_content_says_it() -> None:
    result = read(content=[], structuredContent={"code": "E7"}, isError=True)
    assert (result.text, result.is_error) == ('{"code": "E7"}', True)


def test_b71_text_and_structured_content_are_both_shown_when_they_differ() -> None:
    assert read(content=[text("3")], structuredContent={"price": 3}).text == '3\n{"price": 3}'
    assert read(content=[text("3 EUR")], structuredContent={"price": 3}).text == (
        '3 EUR\n{"price": 3}'
    )


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ('{"price": 3}', {"price": 3}),
        ("plain", {"result": "plain"}),
        ("plain", {"content": "plain"}),
        ("3", {"result": 3}),
        ("a\nb", {"result": ["a", "b"]}),
        ('{"x": 1}\n{"x": 2}', {"result": [{"x": 1}, {"x": 2}]}),
        ('["a"]', {"result": ["a"]}),
    ],
)
def test_b71_structured_content_that_says_the_same_is_not_repeated(
    shown: str, value: dict[str, Any]
) -> None:
    assert read(content=[text(shown)], structuredContent=value).text == shown


def test_b71_a_list_with_a_part_for_each_item_is_not_repeated() -> None:
    parts = [text('{\n  "x": 1\n}'), text('{\n  "x": 2\n}')]
    shown = read(content=parts, structuredContent={"result": [{"x": 1}, {"x": 2}]}).text
    assert shown == '{\n  "x": 1\n}\n{\n  "x": 2\n}'


def test_b72_text_is_shown_as_it_is() -> None:
    odd = "He said \"no\"\nand 'yes' \\ grüße 日本"
    assert read(content=[text(odd), text("second")]).text == f"{odd}\nsecond"


def test_b73_nested_text_links_and_binary_parts_are_shown_in_words() -> None:
    blob = base64.b64encode(b"x" * 3000).decode()
    result = read(
        content=[
            text("ok"),
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "name": "b", "uri": "file:///b", "description": "more"},
            {
                "type": "resource",
                "resource": {"uri": "file:///c", "blob": blob, "mimeType": "application/pdf"},
            },
            {"type": "image", "data": blob, "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "hologram", "data": "x"},
            "no part at all",
        ]
    )
    assert result.text.splitlines() == [
        "ok",
        "[resource: file:///a]",
        "inside",
        "[resource 'b': file:///b: more]",
        "[resource: file:///c, application/pdf, 3 kB]",
        "[image: image/png, 3 kB]",
        "[audio: audio/wav, 3 bytes]",
        "[part of unknown type 'hologram']",
        "[part of unknown type 'str']",
    ]
    assert blob not in result.text
    assert not result.is_error


def test_an_empty_result_says_so() -> None:
    assert read(content=[]).text == "(The tool gave no output.)"
    assert read(content=[text("  ")]).text == "(The tool gave no output.)"
