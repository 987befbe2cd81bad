"""Checks on custom actions that run inside the assistant: their module, and what it provides.

The host imports the module at the first such action, in the middle of a conversation.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Generator, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rasa.shared.core.constants import DEFAULT_ACTION_NAMES
from rasa_sdk.executor import ActionExecutor

from rasa_react_ext.explain.setting import explained, nearest
from rasa_react_ext.host.import_fault import fault_of, fault_words
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.mend import expanded
from rasa_react_ext.host.inspection.source import entries, section, steps

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_actions"]

_PLACE = ("action_endpoint", "actions_module")
_KEY = ": ".join(_PLACE)
_NOT_OURS = ("utter_", "validate_")
"""How names begin that a response or a form stands for as well."""

_OURS = "action_sub_agent_status"
_NEAR = 0.75


def check_actions(inspection: Inspection, files: Files) -> None:
    """Look at the module of actions, and at the actions that the domain declares.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
    """
    if _lacks_endpoint(inspection, files.endpoints):
        _tell_endpoint(inspection, files)
        return
    module = expanded(section(files.endpoints.values(), _PLACE[0]).get(_PLACE[1]))
    if not module or "${" in str(module):
        return
    if not isinstance(module, str):
        _tell(inspection, files.endpoints, *explained({"type": "string_type"}))
        return
    provided = _provided(inspection, files.endpoints, module)
    if provided is None or any(source.problem for source in (*files.domain, *files.flows)):
        return
    run = set(_run(files))
    for source in files.domain:
        for name in _declared(source):
            if name not in provided:
                inspection.add(_missing(source, name, module, provided, name in run))


def _lacks_endpoint(inspection: Inspection, endpoints: Source) -> bool:
    """Whether nothing says where actions run, and it was not told that the key is misspelt."""
    values = endpoints.values()
    if endpoints.problem or not isinstance(values, Mapping | None):
        return False
    meant = any(f.file == endpoints.path and repr(_PLACE[0]) in f.fix for f in inspection.findings)
    return not meant and (values or {}).get(_PLACE[0]) is None


def _tell_endpoint(inspection: Inspection, files: Files) -> None:
    """Actions that the host refuses to run, in the middle of a conversation."""
    if any(source.problem for source in (*files.domain, *files.flows)):
        return
    declared, run = (
        [name for source in files.domain for name in _declared(source)],
        set(_run(files)),
    )
    names = [name for name in declared if name in run] or declared
    if not names:
        return
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    found = Finding(
        level="error" if names[0] in run else "warning",
        file=files.endpoints.path,
        line=files.endpoints.line([_PLACE[0]]),
        key=_PLACE[0],
        problem=f"nothing says where custom actions run: {names[0]!r}{more} would fail.",
        fix="Add it, with actions_module: actions (a package of the project) or the url of an "
        "action server.",
    )
    inspection.add(found)


def _provided(inspection: Inspection, endpoints: Source, module: str) -> Collection[str] | None:
    """Names of the actions that the host would find; None where it would find none at all."""
    if not _is_there(module):
        problem = f"there is no module {module!r}."
        fix = "Write the name of a package of the project, such as actions."
        _tell(inspection, endpoints, problem, nearest(module, _modules()) or fix)
        return None
    executor = ActionExecutor()
    try:
        with _unlogged():
            executor.register_package(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's module may raise anything
        place = fault_of(error)
        if place is None:
            problem = f"{module!r} cannot be imported: {error.__context__ or error}."
            _tell(inspection, endpoints, problem, "Correct it: no action of it can run.")
        else:
            fix = f"Correct it: {endpoints.path}: {_KEY}: {module} needs this file."
            found = Finding(file=place[0], line=place[1], problem=fault_words(error), fix=fix)
            inspection.add(found)
        return None
    return executor.actions


def _tell(inspection: Inspection, endpoints: Source, problem: str, fix: str) -> None:
    line = endpoints.line(_PLACE)
    found = Finding(file=endpoints.path, line=line, key=_KEY, problem=problem, fix=fix)
    inspection.add(found)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _modules() -> Iterator[str]:
    """Modules of the project, two levels deep."""
    for path in (*Path.cwd().glob("*"), *Path.cwd().glob("*/*")):
        name = ".".join(path.relative_to(Path.cwd()).with_suffix("").parts)
        is_module = path.suffix == ".py" or any(path.glob("*.py"))
        if is_module and all(part.isidentifier() for part in name.split(".")):
            yield name.removesuffix(".__init__")


@contextlib.contextmanager
def _unlogged() -> Generator[None]:
    """Without what the library logs of each action, and of an import that fails."""
    logger = logging.getLogger(ActionExecutor.__module__)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _declared(source: Source) -> Iterator[str]:
    """Actions of a file of the domain that only a class can provide."""
    values = source.values()
    listed = values.get("actions") if isinstance(values, Mapping) else None
    kept = {*DEFAULT_ACTION_NAMES, *section(values, "forms")}
    for entry in listed if isinstance(listed, list) else ():
        # An action that wants the domain is written as a key.
        for name in entry if isinstance(entry, Mapping) else [entry]:
            if isinstance(name, str) and name not in kept and not name.startswith(_NOT_OURS):
                yield name


def _run(files: Files) -> Iterator[str]:
    """Names of actions that flows or slots run."""
    for source in files.flows:
        flows = section(source.values(), "flows")
        for step in steps(flows, "action"):
            yield str(step["action"])
        for step in steps(flows, "collect"):
            yield f"action_ask_{step['collect']}"
    for source in files.domain:
        for slot in section(source.values(), "slots").values():
            for mapping in entries(slot, "mappings"):
                yield from (str(mapping.get(key)) for key in ("action", "run_action_every_turn"))


def _missing(
    source: Source, name: str, module: str, provided: Collection[str], is_run: bool
) -> Finding:
    fix = f"Write a class in {module!r} whose name() returns {name!r}, or take the name out."
    if name == _OURS:
        fix = f"Import ActionSubAgentStatus from rasa_react_ext.actions in {module!r}."
    end = ", which the conversation runs." if is_run else "."
    return Finding(
        level="error" if is_run else "warning",
        file=source.path,
        line=source.mention(["actions"], name),
        key=f"actions: {name}",
        problem=f"no class in {module!r} provides the action {name!r}{end}",
        fix=nearest(name, provided, cutoff=_NEAR) or fix,
    )
