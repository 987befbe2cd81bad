"""Where in a project's own code an import fails."""

from __future__ import annotations

import ast
import sysconfig
import traceback
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import rasa_react_ext
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.setting import nearest

__all__ = ["class_refusal", "fault_of", "fault_words"]

_DEEPEST = 3
"""How many folders below the project's own a class is looked for."""

_OTHERS = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(rasa_react_ext.__file__).parent),
)
"""Folders whose code is not the project's."""


def class_refusal(error: BaseException, path: str, *, file: str, key: str) -> ConfigurationError:
    """What to do about a class that cannot be imported.

    Args:
        error: What the import raised.
        path: The class, as it is written.
        file: Where it is written.
        key: The key there.
    """
    place = fault_of(error)
    if place is None:
        problem = f"{path!r} cannot be imported ({' '.join(str(error).split()).rstrip('.')})."
        fix = nearest(path, _classes(path)) or "Correct the path."
    else:
        problem = f"{path!r} cannot be imported: {place[0]}, line {place[1]}: {_said(error)}."
        fix = "Correct that line."
    return ConfigurationError(file=file, key=key, problem=problem, fix=fix)


def _classes(path: str) -> Iterator[str]:
    """Full names of the project's classes that may have been meant, without importing them."""
    depth = min(path.count("."), _DEEPEST)
    for file in chain.from_iterable(Path.cwd().glob("*/" * n + "*.py") for n in range(depth + 1)):
        parts = [*file.relative_to(Path.cwd()).with_suffix("").parts]
        if not all(part.isidentifier() for part in parts):
            continue
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        try:
            nodes = ast.parse(file.read_bytes()).body
        except (OSError, SyntaxError, ValueError):
            continue
        yield from (f"{module}.{node.name}" for node in nodes if isinstance(node, ast.ClassDef))


def fault_of(error: BaseException) -> tuple[str, int] | None:
    """File and line of the project's code that an error comes from.

    Args:
        error: What an import raised.

    Returns:
        The file as it is named from the working directory; None where the import did not
        reach any code of the project, so that the path itself is wrong.
    """
    for link in _chain(error):
        if isinstance(link, SyntaxError) and link.filename and _is_own(link.filename):
            return _from_here(link.filename), link.lineno or 1
        for frame in reversed(traceback.extract_tb(link.__traceback__)):
            if _is_own(frame.filename):
                return _from_here(frame.filename), frame.lineno or 1
    return None


def fault_words(error: BaseException) -> str:
    """What is wrong at that place."""
    return f"this cannot be imported: {_said(error)}."


def _said(error: BaseException) -> str:
    first = list(_chain(error))[-1]
    words = first.msg if isinstance(first, SyntaxError) else str(first)
    return (" ".join(words.split()) or type(first).__name__).rstrip(".")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _is_own(file: str) -> bool:
    path = Path(file)
    return path.is_file() and not any(path.is_relative_to(folder) for folder in _OTHERS)


def _from_here(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
