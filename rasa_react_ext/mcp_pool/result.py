"""A server's result in the words of the engine.

Pure: no network, no storage.
"""

from __future__ import annotations

import json
from typing import Any

from mcp import types

from rasa_react_ext.engine.tool import ToolResult

__all__ = ["tool_result"]


def tool_result(result: types.CallToolResult) -> ToolResult:
    """Turn one result into text for the model and a value for the project."""
    text = "\n".join(part for part in map(_text, result.content) if part)
    value = result.structuredContent
    if not text and value is not None:
        text = _json(value)
    return ToolResult(text=text or "(no content)", is_error=result.isError, value=value)


def _text(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    return f"[{block.type}]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
