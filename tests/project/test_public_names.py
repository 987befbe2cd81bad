"""Public means listed: every module lists its names, and the lists users rely on are pinned."""

from __future__ import annotations

import ast

import pytest

from tests.project.public_names import PUBLIC_NAMES
from tests.project.tree import module_name, package_files, parsed

MODULES = {module_name(path): path for path in package_files()}
LISTING = sorted(name for name in MODULES if "._" not in name and ".migrations." not in name)
"""Modules that list their names: all but private ones and the scripts of the database layer."""

FACE = [name for name in LISTING if name.count(".") <= 1]
"""The root, the modules beside it and the sub-packages as such: what users import from."""


def _listed(module: str) -> tuple[str, ...] | None:
    """What `__all__` lists, read without importing; an empty module needs no list."""
    tree = parsed(MODULES[module])
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return tuple(ast.literal_eval(node.value))
    only_docstring = len(tree.body) == (ast.get_docstring(tree) is not None)
    return () if only_docstring else None


@pytest.mark.parametrize("module", LISTING)
def test_every_module_lists_its_names(module: str) -> None:
    assert _listed(module) is not None, f"{module} has no __all__"


@pytest.mark.parametrize("module", sorted({*FACE, *PUBLIC_NAMES}))
def test_the_names_users_rely_on_are_the_pinned_ones(module: str) -> None:
    assert module in MODULES, f"{module} is pinned but gone"
    listed = _listed(module)
    assert listed == PUBLIC_NAMES.get(module, ()), (
        f"if this change is wanted, tests/project/public_names.py needs:\n"
        f"    {module!r}: {listed!r},"
    )
