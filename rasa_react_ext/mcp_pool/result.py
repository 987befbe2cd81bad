"""A server's result in the words of the engine (MCP "Tools", tool result).

Pure: no network, no storage. What a model cannot read is named, never dropped and
never shown as base64.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mcp import types
from pydantic import Field, TypeAdapter, ValidationError

from rasa_react_ext.engine.tool import ToolResult

__all__ = ["CallAnswer", "tool_result"]

_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_EMPTY = "(The tool gave no output.)"
_EMPTY_ERROR = "The tool failed and did not say why."


class CallAnswer(types.Result):
    """A `tools/call` result whose parts are still unread: one odd part costs no other."""

    content: list[Any] = Field(default_factory=list)
    structuredContent: Any = None  # noqa: N815  # the protocol's name
    isError: bool = False  # noqa: N815


def tool_result(result: CallAnswer) -> ToolResult:
    """Turn one result into text for the model and a value for the project.

    The text holds every part in order, and the structured value as JSON where it
    says something that the text does not.
    """
    parts = [part for part in map(_part, result.content) if part]
    text = "\n".join(parts)
    value = result.structuredContent
    if value is not None and not _says(parts, value):
        text = f"{text}\n{_json(value)}" if text else _json(value)
    if not text.strip():
        text = _EMPTY_ERROR if result.isError else _EMPTY
    return ToolResult(text=text, is_error=result.isError, value=value)


def _part(raw: object) -> str:
    try:
        block = _BLOCK.validate_python(raw)
    except ValidationError:
        kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
        return f"[part of unknown type {kind!r}]"
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type}: {block.mimeType}, {_size(block.data)}]"
        case types.EmbeddedResource():
            return _resource(block.resource)
        case types.ResourceLink():
            told = f": {block.description}" if block.description else ""
            return f"[resource {block.title or block.name!r}: {block.uri}{told}]"


def _resource(resource: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return f"[resource: {resource.uri}]\n{resource.text}"
    kind = resource.mimeType or "unknown type"
    return f"[resource: {resource.uri}, {kind}, {_size(resource.blob)}]"


def _says(parts: Sequence[str], value: Any) -> bool:
    """Whether the parts hold the same as the structured value.

    Servers repeat the value as JSON text, in whatever layout; a list with a part for each
    item; a plain text wrapped in an object of one key.
    """
    text = "\n".join(parts)
    only = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    if only == text:
        return True
    plain = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    if isinstance(plain, list):
        lines = parts if len(parts) == len(plain) else text.split("\n")
        if [_told(line) for line in lines] == plain or lines == plain:
            return True
    return _told(text) in (plain, value)


def _told(text: str) -> Any:
    """The value of a JSON text; a text that is no JSON is its own value."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _size(base64: str) -> str:
    size = len(base64) * 3 // 4
    return f"{size} bytes" if size < 1_000 else f"{size / 1_000:.0f} kB"
