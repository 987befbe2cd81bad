"""The tables of docs/configuration.md, made from the settings models.

`python -m tests.host.settings_table` prints them, to be pasted into the page.
"""

from __future__ import annotations

from pydantic import BaseModel

from rasa_react_ext.host import settings

__all__ = ["tables"]

HEAD = "| Key | Meaning | Default |\n|---|---|---|\n"


def tables() -> dict[str, str]:
    """A Markdown table for each model, by the model's name."""
    return {model.__name__: _table(model) for model in _models()}


def _models() -> list[type[BaseModel]]:
    named = (getattr(settings, name) for name in settings.__all__)
    classes = [value for value in named if isinstance(value, type)]
    return [model for model in classes if model.__name__ not in {"EngineSettings", "Settings"}]


def _table(model: type[BaseModel]) -> str:
    rows = [_row(key, field.description or "") for key, field in model.model_fields.items()]
    return HEAD + "".join(rows)


def _row(key: str, description: str) -> str:
    meaning, _, default = description.partition(" Default: ")
    return f"| `{key}` | {meaning} | {default.removesuffix('.') or 'none'} |\n"


if __name__ == "__main__":
    print("\n".join(f"{name}\n\n{table}" for name, table in tables().items()))
