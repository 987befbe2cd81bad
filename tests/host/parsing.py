"""Does once what the host does again and again with its own texts, such as the patterns.

Most of the time of loading or checking a small project goes into parsing the same texts and
checking the same schemas.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jsonschema

__all__ = ["parse_once"]

_VARIABLE = re.compile(r"\$\{?(\w+)")


@cache
def parse_once() -> None:
    """Keep what the host's reader makes of a text, for this process."""
    from rasa.shared.utils import yaml

    yaml.read_yaml = _kept(yaml.read_yaml)
    validator: Any = jsonschema.Draft202012Validator
    validator.check_schema = _checked(validator.check_schema)


def _kept(read: Callable[..., Any]) -> Callable[..., Any]:
    parsed: dict[tuple[Any, ...], bytes] = {}

    @wraps(read)
    def reading(content: str, reader_type: Any = "safe", **options: Any) -> Any:
        named = tuple((name, os.environ.get(name)) for name in _VARIABLE.findall(content))
        key = (content, named, str(reader_type), *sorted(options.items()))
        if key in parsed:
            return pickle.loads(parsed[key])
        made = read(content, reader_type, **options)
        parsed[key] = pickle.dumps(made)
        return made

    return reading


def _checked(check: Callable[..., None]) -> Callable[..., None]:
    """Check a schema that was right before no second time."""
    right: set[str] = set()

    @wraps(check)
    def checking(schema: Any, **options: Any) -> None:
        text = json.dumps(schema, sort_keys=True, default=repr)
        if text not in right:
            check(schema, **options)
            right.add(text)

    return checking
