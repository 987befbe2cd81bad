"""The pages for people, and the code blocks and commands on them."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.project.tree import ROOT

__all__ = ["DOCS", "PAGES", "Block", "Line", "blocks", "files_of", "missing", "spoken_commands"]

DOCS = ROOT / "docs"
PAGES = (
    *sorted(path.name for path in DOCS.glob("*.md")),
    "../CONTRIBUTING.md",
    "../README.md",
)
"""Every page, as seen from the folder of the pages."""

PROGRAMS = (
    *(
        "cd",
        "cp",
        "curl",
        "docker",
        "export",
        "git",
        "make",
        "npx",
        "pip",
        "pytest",
        "python",
        "uv",
    ),
    *("rasa", "rasa-react", ".venv/bin/python", ".venv/bin/rasa-react"),
)
"""What a text begins with that is a command."""

_COMMAND = re.compile(rf"(?:\w+=\S+ )*(?:{'|'.join(map(re.escape, PROGRAMS))}) ")
_BLOCK = re.compile(r"^[ ]*```(?P<kind>\w*)\n(?P<text>.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (?P<name>[\w./-]+\.\w+)\b.*\n")
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One command.

    Attributes:
        page: Name of its page.
        text: As it is written.
        words: The program and its arguments.
        variables: What is set before the program.
    """

    page: str
    text: str
    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, page: str, text: str) -> Line:
        """Split a line as a shell does."""
        words = shlex.split(text, comments=True)
        variables: dict[str, str] = {}
        while words and re.match(r"\w+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        return cls(page=page, text=text.strip(), words=tuple(words), variables=variables)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One block.

    Attributes:
        page: Name of its page.
        line: Line it begins at.
        kind: Its language.
        text: What stands in it.
    """

    page: str
    line: int
    kind: str
    text: str

    @property
    def file(self) -> str:
        """Name of the file that it is, from its first line; else empty."""
        found = _FILE.match(self.text)
        return found["name"] if found else ""

    @property
    def is_shell(self) -> bool:
        """Whether it is for a shell; one that only says so by what stands in it, too."""
        return self.kind == "sh" or (not self.kind and bool(_COMMAND.match(self.text)))

    @property
    def is_script(self) -> bool:
        """Whether its lines only make sense together."""
        return self.is_shell and "&" in self.text

    @property
    def lines(self) -> list[Line]:
        """Its commands."""
        whole = self.text.replace("\\\n", " ")
        return [Line.read(self.page, line) for line in whole.splitlines() if line.strip()]


def blocks(page: str) -> list[Block]:
    """Every block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, found.start("text")),
            kind=found["kind"],
            text=textwrap.dedent(found["text"]),
        )
        for found in _BLOCK.finditer(text)
    ]


def spoken_commands(page: str) -> list[Line]:
    """Commands in the running text of a page, each once."""
    text = _BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8"))
    spans = dict.fromkeys(_SPAN.findall(text))
    return [Line.read(page, span) for span in spans if _COMMAND.match(span)]


def missing(page: str, printed: str, mark: str) -> list[str]:
    """Lines of the blocks with a mark that a program did not print in this order.

    What a page leaves out is an ellipsis; times differ.
    """
    shown = [block for block in blocks(page) if mark in block.text]
    assert shown, f"{page} shows nothing with {mark!r}"
    left: list[str] = []
    for block in shown:
        rest = printed
        for line in filter(None, block.text.splitlines()):
            words = re.sub(r"\(\d+ ms\)", "(… ms)", line)
            found = re.search(".*".join(map(re.escape, words.split("…"))), rest)
            if found is None:
                left.append(line)
            else:
                rest = rest[found.end() :]
    return left


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
