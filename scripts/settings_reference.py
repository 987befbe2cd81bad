"""Writes the tables of every setting into the pages, from the models that read the settings.

`make docs` runs it. A table stands between `<!-- settings: MODEL -->` and the end mark.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

__all__ = ["PAGES", "models", "rewritten", "tables"]

NAMED = ("configuration.md", "a2a-server.md", "long-running-agents.md")
DOCS = Path(__file__).parents[1] / "docs"
PAGES = tuple(DOCS / name for name in NAMED)
TABLE = re.compile(r"<!-- settings: (\w+) -->\n.*?<!-- end of settings -->\n", re.DOTALL)
HEAD = "| key | meaning | value | default |\n| --- | --- | --- | --- |\n"
NAMES: dict[Any, str] = {
    bool: "`true`, `false`",
    float: "number",
    int: "whole number",
    SecretStr: "text",
    str: "text",
}


def models() -> dict[str, type[BaseModel]]:
    """Every model whose keys a person writes, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the host's own files
        from rasa_react_ext.a2a_server import settings as served
        from rasa_react_ext.channels import task_updates
        from rasa_react_ext.host import settings

    known: dict[str, type[BaseModel]] = {}
    _add(known, (settings.AgentSettings, settings.DeploymentSettings))
    _add(known, (served.ServerSettings, task_updates.TaskUpdatesSettings))
    return known


def tables() -> dict[str, str]:
    """A Markdown table for each model, by the model's name."""
    return {name: _table(model) for name, model in models().items()}


def rewritten(page: str, known: dict[str, str]) -> str:
    """A page with its tables written anew."""
    return TABLE.sub(lambda mark: _marked(mark[1], known[mark[1]]), page)


def _marked(name: str, table: str) -> str:
    return f"<!-- settings: {name} -->\n{table}<!-- end of settings -->\n"


def _add(known: dict[str, type[BaseModel]], found: Iterable[type[BaseModel]]) -> None:
    """Add models and those of their parts."""
    for model in found:
        if model.__name__ not in known:
            known[model.__name__] = model
            for field in model.model_fields.values():
                _add(known, _models_in(field.annotation))


def _models_in(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models_in(part)]


def _table(model: type[BaseModel]) -> str:
    return HEAD + "".join(_row(key, field) for key, field in model.model_fields.items())


def _row(key: str, field: FieldInfo) -> str:
    said = (field.description or "").rstrip(".")
    meaning, _, told = said.partition(". Default: ")
    value = _value(field.annotation, field.metadata)
    return f"| `{key}` | {meaning} | {value} | {_default(field, told)} |\n"


def _default(field: FieldInfo, told: str) -> str:
    """What the model says, or what its description tells where that is decided elsewhere."""
    if field.is_required():
        return "needed"
    given = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(given, SecretStr):
        given = given.get_secret_value()
    if given is None or given in ((), [], {}):
        kind, _ = _plain(field.annotation)
        is_value = told.isdecimal() or told in {"true", "false", *map(str, get_args(kind))}
        literal = get_origin(kind) is Literal
        return f"`{_written(told) if literal else told}`" if is_value else told or "none"
    assert not told, "the default stands in the model"
    return f"`{_written(given)}`"


def _written(value: Any) -> str:
    """A value as it is written in YAML: a text that would be something else is quoted."""
    if isinstance(value, str):
        plain = yaml.safe_dump(value, width=1000).startswith(f"{value}\n")
        return value if plain else f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def _plain(kind: Any, limits: Iterable[Any] = ()) -> tuple[Any, list[Any]]:
    """A type that is not optional and not annotated, and its limits."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _plain(parts[0], [*limits, *kind.__metadata__])
    if origin in {Union, UnionType}:
        return _plain(next(part for part in parts if part is not type(None)), limits)
    return kind, list(limits)


def _value(kind: Any, limits: Iterable[Any] = ()) -> str:
    """What may be written, in words."""
    kind, limits = _plain(kind, limits)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{_written(part)}`" for part in parts)
    if origin is not None:
        many = "by name" if origin is dict else "list"
        return f"{many}: {_value(parts[1] if origin is dict else parts[0])}"
    if issubclass(kind, BaseModel):
        return "keys of its own"
    return NAMES[kind] + _limit(limits, whole=kind is int)


def _limit(limits: Iterable[Any], *, whole: bool) -> str:
    told: list[str] = []
    for limit in limits:
        above, least, most = (getattr(limit, name, None) for name in ("gt", "ge", "le"))
        if above is not None:
            told.append("1 or more" if whole and above == 0 else f"above {above}")
        if least is not None:
            told.append(f"{least} or more")
        if most is not None:
            told.append(f"{most} or less")
    return "".join(f", {words}" for words in told)


def main() -> None:
    """Write the pages."""
    known = tables()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(rewritten(text, known), encoding="utf-8")


if __name__ == "__main__":
    main()
