"""The code blocks of a page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.project.tree import ROOT

__all__ = ["DOCS", "Block", "blocks", "files_of"]

DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(?:^[ ]*<!-- (?P<note>[^\n]*) -->\n)?"
    r"^[ ]*```(?P<kind>\w*)\n(?P<text>.*?)^[ ]*```$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"# (?P<name>[\w./-]+\.\w+)\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One block.

    Attributes:
        page: Name of its page.
        line: Line it begins at.
        kind: Its language.
        text: What stands in it.
        note: The comment before it, which says why it is not run; else empty.
    """

    page: str
    line: int
    kind: str
    text: str
    note: str

    @property
    def file(self) -> str:
        """Name of the file that it is, from its first line; else empty."""
        found = _FILE.match(self.text)
        return found["name"] if found else ""


def blocks(page: str) -> list[Block]:
    """Every block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, found.start("text")),
            kind=found["kind"],
            text=textwrap.dedent(found["text"]),
            note=found["note"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def files_of(page: str, folder: Path) -> Mapping[str, Path]:
    """Write every block that is a file into a folder."""
    written: dict[str, Path] = {}
    for block in blocks(page):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            written[block.file] = path
    return written
