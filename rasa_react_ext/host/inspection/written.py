"""Checks on each file by itself: can it be read, is what it needs there."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rasa_react_ext.explain.encoding import NO_UTF8, SAVE_AS_UTF8
from rasa_react_ext.explain.setting import explained, meant
from rasa_react_ext.host.inspection.draft import MISSPELT
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.source import EMPTY, NO_KEYS, entries, section
from rasa_react_ext.host.lock_check import lock_store_weakness

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["OUR_POLICY", "check_written", "policy_keys", "unset_variables"]

OUR_POLICY = "rasa_react_ext.policy.ReActPolicy"
_EXAMPLE = ".env.example"
_NEEDED = {
    "config.yml": "Write `recipe:`, `language:`, `pipeline:` and `policies:` in it.",
    "endpoints.yml": "Write `model_groups:` in it, and `mcp_servers:` for the tools of agents.",
}
_NEEDED_OF_AGENT = (
    "Write `agent:` with name, description and protocol in it, and `connections:` or "
    "`configuration:` as the agent needs them."
)
_LISTS = ("pipeline", "policies")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SET = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=", re.M)


def check_written(inspection: Inspection, files: Files) -> Files:
    """Look at every file of a project.

    Args:
        inspection: Takes what is wrong.
        files: The files.

    Returns:
        The files without what was found in config.yml, so that it hides nothing else.
    """
    # Paths that were given by hand come first: what is missing then follows from them.
    for source in (*files.domain, *files.flows):
        if _is_missing(source):
            inspection.add(_unreadable(source, given=True))
    for source in files.all():
        optional = any(source is s for s in (files.credentials, *files.domain, *files.flows))
        if source.problem and not (optional and _is_missing(source)):
            inspection.add(_unreadable(source))
    sources = (files.endpoints, files.credentials, *files.agents.values())
    free = _in_dot_env() - _asked_for(sources)
    for source in sources:
        for name, line in unset_variables(source):
            problem = f"the environment variable {name} is not set."
            fix = f"Set {name}, in the environment or in a file .env of the project."
            if near := meant(name, free, cutoff=MISSPELT):
                fix = f".env sets {near!r}, which is near to it: correct one of the two."
            if _is_in_example(name):
                fix += f" {_EXAMPLE} has a value to begin with."
            found = Finding(file=source.path, line=line, key=name, problem=problem, fix=fix)
            inspection.add(found, [f"${{{name}}}"])
    _check_locks(inspection, files.endpoints)
    return replace(files, config=_check_components(inspection, files.config))


def unset_variables(source: Source) -> Iterator[tuple[str, int]]:
    """Environment variables that a file asks for and that are not set, each with its first line."""
    told: set[str] = set()
    for text, line in source.texts():
        for name in _VARIABLE.findall(text):
            if name not in os.environ and name not in told:
                told.add(name)
                yield name, line


def _asked_for(sources: Iterable[Source]) -> set[str]:
    texts = (text for source in sources for text, _ in source.texts())
    return {name for text in texts for name in _VARIABLE.findall(text)}


def _in_dot_env() -> set[str]:
    """Names that the project's file of variables sets; its values are nobody's business."""
    folders = (Path.cwd(), *Path.cwd().parents)
    path = next((folder / ".env" for folder in folders if (folder / ".env").is_file()), None)
    return set(_SET.findall(path.read_text(encoding="utf-8"))) if path is not None else set()


def policy_keys(config: Source) -> Mapping[str, Any]:
    """Our keys of the policy entry in config.yml."""
    policies = entries(config.values(), "policies")
    ours = next((entry for entry in policies if entry.get("name") == OUR_POLICY), {})
    return {key: value for key, value in ours.items() if key != "name"}


def _is_in_example(name: str) -> bool:
    path = Path(_EXAMPLE)
    return path.is_file() and f"\n{name}=" in f"\n{path.read_text(encoding='utf-8')}"


def _is_missing(source: Source) -> bool:
    return "No such file" in source.problem


def _unreadable(source: Source, *, given: bool = False) -> Finding:
    problem, fix = source.problem, "Correct the YAML there."
    if problem == NO_UTF8:
        fix = SAVE_AS_UTF8
    elif problem in {EMPTY, NO_KEYS}:
        fix = _NEEDED.get(source.path, _NEEDED_OF_AGENT)
    else:
        problem = f"{problem}."
    fix = f"{fix} What needs it was not looked at."
    if _is_missing(source):
        problem = "there is no such file."
        if given:
            problem = f"there is no such file or folder: {source.path!r}."
        fix = "Run this in the project's folder; --domain and --data may name other places."
        if Path(source.path).parts[0] == "sub_agents":
            fix = "Write it, or remove the folder: each folder of sub_agents is an agent."
    return Finding(file=source.path, line=source.problem_line, problem=problem, fix=fix)


def _check_components(inspection: Inspection, config: Source) -> Source:
    if config.root is None:
        return config
    values = config.values()
    wrong = [k for k in _LISTS if values.get(k) is not None and not isinstance(values[k], list)]
    for key in wrong:
        problem, fix = explained({"type": "list_type"})
        line = config.line([key])
        found = Finding(file=config.path, line=line, key=key, problem=problem, fix=fix)
        inspection.add(found)
    checked = config if "policies" in wrong else _check_policies(inspection, config)
    values = checked.values()
    kept = {key: value for key, value in values.items() if key not in wrong}
    return replace(config, mended=kept) if wrong else checked


def _check_policies(inspection: Inspection, config: Source) -> Source:
    names = [str(entry.get("name")) for entry in entries(config.values(), "policies")]
    problem, fix = "", ""
    if OUR_POLICY not in names:
        problem = "the agents run on the host's own engine."
        near = difflib.get_close_matches(OUR_POLICY, names, n=1)
        fix = f"Add `- name: {OUR_POLICY}`" + (f" in place of {near[0]!r}." if near else ".")
    elif not any(name.rpartition(".")[2] == "FlowPolicy" for name in names):
        problem = "ReActPolicy stands alone, but flows are advanced by FlowPolicy."
        fix = "Add `- name: FlowPolicy` beside it."
    if problem:
        line = config.line(["policies"])
        found = Finding(file=config.path, line=line, key="policies", problem=problem, fix=fix)
        inspection.add(found)
    return _once(inspection, config)


def _once(inspection: Inspection, config: Source) -> Source:
    """Our policy is asked and bound once for each entry; the last that has keys is kept."""
    values = config.values()
    listed = values.get("policies")
    ours = [
        number
        for number, entry in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(entry, Mapping) and entry.get("name") == OUR_POLICY
    ]
    for number in ours[1:]:
        first = config.line(["policies", str(ours[0])])
        found = Finding(
            file=config.path,
            line=config.line(["policies", str(number)]),
            key=f"policies: {OUR_POLICY}",
            problem=f"the policy is there a second time; the first is in line {first}.",
            fix="Put its keys together below one of the two, and remove the other.",
        )
        inspection.add(found)
    if len(ours) < 2:
        return config
    whole = {key: value for number in reversed(ours) for key, value in listed[number].items()}
    kept = [whole if n == ours[0] else e for n, e in enumerate(listed) if n not in ours[1:]]
    return replace(config, mended={**values, "policies": kept})


def _check_locks(inspection: Inspection, endpoints: Source) -> None:
    weakness = lock_store_weakness(section(endpoints.values(), "lock_store").get("type"))
    if weakness is not None:
        inspection.add(
            Finding(
                level="warning",
                file=endpoints.path,
                line=endpoints.line(weakness.key.split(": ")),
                key=weakness.key,
                problem=weakness.problem,
                fix=weakness.fix,
            )
        )
