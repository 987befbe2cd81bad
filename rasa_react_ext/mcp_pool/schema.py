"""JSON schemas of tool arguments: kept as the server wrote them.

Pure functions; the schema given is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["object_schema"]


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the two fields every provider demands, the rest untouched."""
    return {"type": "object", "properties": {}, **schema}
