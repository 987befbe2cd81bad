"""Classes that a project names by their full path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Iterator

from rasa_react_ext.explain.setting import meant
from rasa_react_ext.host.import_fault import fault_of

__all__ = ["class_at"]


def class_at(path: str, base: type, known: Collection[str] = ()) -> tuple[type | None, str, str]:
    """Import a class.

    Args:
        path: Its module and name.
        base: What others of its kind extend.
        known: Paths that may have been meant.

    Returns:
        The class, what is wrong with the path, and the path that was meant.
    """
    module, _, label = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), label)
    except AttributeError:
        near = {f"{module}.{name}" for name in _classes_in(module, base)}
        return None, f"{module} has no class {label!r}.", meant(path, {*near, *known})
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything
        place = fault_of(error)
        where = f" ({place[0]}, line {place[1]})" if place else ""
        return None, f"the class cannot be imported: {error}{where}.", meant(path, known)
    if not isinstance(found, type):
        return None, "this is no class.", ""
    return found, "", path


def _classes_in(module: str, base: type) -> Iterator[str]:
    names = vars(sys.modules[module]) if module in sys.modules else {}
    for label, value in names.items():
        if isinstance(value, type) and issubclass(value, base):
            yield label
