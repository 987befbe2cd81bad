"""A project's YAML files with the lines of their keys.

Reads only; says nothing about what a key means.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from rasa_react_ext.explain.encoding import NO_UTF8, line_of

__all__ = [
    "EMPTY",
    "NO_KEYS",
    "Source",
    "entries",
    "read_keys",
    "read_source",
    "read_sources",
    "section",
    "steps",
]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAMING_KEYS = {"action", "call", "collect", "id", "link", "name", "param"}
_ENDINGS = {".yml", ".yaml"}
_NO_TEXT = yaml.reader.Reader.NON_PRINTABLE
_CONTROL = "the control character {!r} may not stand in YAML"
EMPTY = "this file is empty."
NO_KEYS = "this file must hold keys."


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file.

    Attributes:
        path: From the project's folder.
        root: Its outermost node; None where it is missing, empty or broken.
        problem: Why it could not be read, else empty.
        problem_line: Line of that problem, from 1.
        mended: Values in place of the written ones, without the mistakes that were told.
        misspelt: Keys as they are written, by what they were taken for.
    """

    path: str
    root: yaml.Node | None = None
    problem: str = ""
    problem_line: int | None = None
    mended: Any = None
    misspelt: Mapping[str, str] = field(default_factory=dict[str, str])

    def line(self, parts: Sequence[str]) -> int | None:
        """The line of a place, or of the last of its parts that is there.

        Args:
            parts: Keys from the outside in; an entry of a list goes by its name, id,
                step or own text. Parts that only name what encloses them are left out.
        """
        node, line = self.root, None
        for part in parts:
            found = _child(node, part)
            if found is None and part in self.misspelt:
                found = _child(node, self.misspelt[part])
            found = found or _below(node, part)
            if found is not None:
                line, node = found[0] + 1, found[1]
        return line

    def mention(self, parts: Sequence[str], words: str) -> int | None:
        """The line of the first text that has some words, below the innermost place it is in.

        Args:
            parts: Keys from the outside in, as for `line`.
            words: What is looked for, between the bounds of words.
        """
        inside: list[yaml.Node | None] = [self.root]
        for part in parts:
            found = _child(inside[-1], part) or _below(inside[-1], part)
            if found is not None:
                inside.append(found[1])
        pattern = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        for place in reversed(inside):
            for node in _nodes(place):
                if isinstance(node, yaml.ScalarNode) and pattern.search(str(node.value)):
                    return node.start_mark.line + 1
        return None

    def has(self, parts: Sequence[str]) -> bool:
        """Whether every one of the parts is there, each directly below the last."""
        node = self.root
        for part in parts:
            found = _child(node, part)
            if found is None:
                return False
            node = found[1]
        return True

    def values(self) -> Any:
        """The file as plain values, None where it could not be read."""
        if self.mended is not None:
            return copy.deepcopy(self.mended)
        if self.root is None:
            return None
        return yaml.load(Path(self.path).read_text(encoding="utf-8"), _Loader)

    def texts(self) -> Iterator[tuple[str, int]]:
        """Every text of the file with its line; comments are none."""
        for node in _nodes(self.root):
            if isinstance(node, yaml.ScalarNode):
                yield str(node.value), node.start_mark.line + 1


def read_source(path: Path) -> Source:
    """Read one file; a broken one tells where."""
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        if (strange := _NO_TEXT.search(text)) is not None:
            line = text.count("\n", 0, strange.start()) + 1
            return Source(path=name, problem=_CONTROL.format(strange[0]), problem_line=line)
        return Source(path=name, root=yaml.compose(text, _Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = error.problem or "it is no YAML"
        return Source(path=name, problem=words, problem_line=mark.line + 1 if mark else None)
    except UnicodeDecodeError as error:
        return Source(path=name, problem=NO_UTF8, problem_line=line_of(error))
    except (OSError, ValueError, yaml.YAMLError) as error:
        return Source(path=name, problem=" ".join(str(error).split()))


def read_keys(path: Path) -> Source:
    """Read one file that must hold keys; what holds anything else is a broken one."""
    source = read_source(path)
    if source.problem or isinstance(source.root, yaml.MappingNode):
        return source
    if source.root is None:
        return replace(source, problem=EMPTY)
    line = source.root.start_mark.line + 1
    return replace(source, root=None, problem=NO_KEYS, problem_line=line)


def read_sources(path: Path) -> list[Source]:
    """The file, or the YAML files of the folder and those below it, by name."""
    if not path.is_dir():
        return [read_source(path)]
    files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
    return [read_source(file) for file in files]


def section(values: Any, key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty where there is none."""
    below = values.get(key) if isinstance(values, Mapping) else None
    return below if isinstance(below, Mapping) else {}


def entries(values: Any, key: str) -> list[Mapping[str, Any]]:
    """The mappings in the list under a key."""
    below = values.get(key) if isinstance(values, Mapping) else None
    return [e for e in below if isinstance(e, Mapping)] if isinstance(below, list) else []


def steps(node: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    """Every step of a kind at any depth of a flow."""
    if isinstance(node, Mapping):
        if isinstance(node.get(kind), str):
            yield node
        for value in node.values():
            yield from steps(value, kind)
    elif isinstance(node, list):
        for item in node:
            yield from steps(item, kind)


def _child(node: yaml.Node | None, part: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        pairs = node.value
        return next(((k.start_mark.line, v) for k, v in pairs if k.value == part), None)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            if part == str(index) or _is_named(item, part):
                return item.start_mark.line, item
    return None


def _is_named(item: yaml.Node, part: str) -> bool:
    if isinstance(item, yaml.ScalarNode):
        return str(item.value) == part
    if not isinstance(item, yaml.MappingNode):
        return False
    names = [(k.value, v.value) for k, v in item.value if k.value in _NAMING_KEYS]
    # The host names a step without an id after its flow, its number and what it does.
    return any(value == part or part.endswith(f"_{key}_{value}") for key, value in names)


def _below(node: yaml.Node | None, part: str) -> tuple[int, yaml.Node] | None:
    """The first key of that name at any depth."""
    return next((found for below in _nodes(node) if (found := _child(below, part))), None)


def _nodes(node: yaml.Node | None) -> Iterator[yaml.Node]:
    if node is None:
        return
    yield node
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _nodes(key)
            yield from _nodes(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item)
