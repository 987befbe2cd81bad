"""Puts a record and the page's style and script into one HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment

__all__ = ["build_page"]


def build_page(turns: Sequence[Any], *, title: str) -> str:
    """One HTML page that needs no network.

    Args:
        turns: What `read_record` returned.
        title: Shown as the page's title.
    """
    environment = Environment(autoescape=True)
    # A closing tag or a line separator inside the data must not end the script.
    data = json.dumps(turns, ensure_ascii=False).replace("<", "\\u003c")
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return environment.from_string(_part("trace.html")).render(
        title=title, style=_part("trace.css"), script=_part("trace.js"), data=data
    )


def _part(name: str) -> str:
    return (resources.files("rasa_react_ext.cli.page") / name).read_text(encoding="utf-8")
