"""The trace page: a conversation's record as one self-contained HTML file."""

from __future__ import annotations

from rasa_react_ext.cli.page.build import build_page
from rasa_react_ext.cli.page.record import read_record

__all__ = ["build_page", "read_record"]
