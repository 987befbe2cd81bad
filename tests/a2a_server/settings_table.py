"""The tables of docs/a2a-server.md, made from the settings models.

`python -m tests.a2a_server.settings_table` writes them into the page.
"""

from __future__ import annotations

from pydantic import BaseModel

from rasa_react_ext.a2a_server import settings
from tests.project.tree import ROOT

__all__ = ["PAGE", "tables"]

PAGE = ROOT / "docs" / "a2a-server.md"
START, END = "<!-- settings -->\n", "<!-- end of settings -->\n"
MODELS: dict[str, type[BaseModel]] = {
    "The entry": settings.ServerSettings,
    "`auth`": settings.AuthSettings,
    "`auth: jwt`": settings.JwtSettings,
    "`auth: api_key`": settings.ApiKeySettings,
    "`card_signing`": settings.CardSigningSettings,
    "`grpc`": settings.GrpcSettings,
}


def tables() -> str:
    """All tables in Markdown."""
    return "\n".join(f"### {name}\n\n{_table(model)}" for name, model in MODELS.items())


def _table(model: type[BaseModel]) -> str:
    rows = ["| key | meaning | default |", "| --- | --- | --- |"]
    for key, field in model.model_fields.items():
        said = (field.description or "").rstrip(".")
        meaning, _, told = said.partition(". Default: ")
        default = "needed" if field.is_required() else f"`{field.default!r}`"
        if told or field.default is None:
            default = told or "none"
        rows.append(f"| `{key}` | {meaning} | {default} |")
    return "\n".join(rows) + "\n"


def written() -> str:
    """The tables as the page has them."""
    return PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}{tables()}{END}{after}", encoding="utf-8")
