"""Checks that nothing is there twice: keys of a file, names of agents, flows, servers and groups.

What is told is put together or left out, so that it breaks nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from rasa_react_ext.explain.setting import meant
from rasa_react_ext.host.inspection.draft import MISSPELT
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.mend import drop
from rasa_react_ext.host.inspection.source import entries, section, steps

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_duplicates"]

_MERGE = "<<"
_DOMAIN = ("responses", "slots")
_LISTS = (("mcp_servers", "name"), ("model_groups", "id"))
_KEEP_ONE = "Keep one of the two, or give it another name."
_Pairs = dict[Any, tuple[yaml.Node, yaml.Node]]
_Twice = tuple[Sequence[str], int, int]
"""A place, and the lines in which its key stands for the first time and again."""


def check_duplicates(inspection: Inspection, files: Files) -> Files:
    """Look for what is there twice.

    Args:
        inspection: Takes it.
        files: The project's files.

    Returns:
        The files as they were meant, as far as that can be told.
    """
    agents = {name: _whole(inspection, source) for name, source in files.agents.items()}
    flows = [_whole(inspection, source) for source in files.flows]
    _check_flows(inspection, flows)
    domain = [_whole(inspection, source) for source in files.domain]
    return replace(
        files,
        config=_whole(inspection, files.config),
        endpoints=_check_lists(inspection, _whole(inspection, files.endpoints)),
        credentials=_whole(inspection, files.credentials),
        agents=_check_agents(inspection, agents, _nobodys(files, agents)),
        domain=_check_domain(inspection, domain),
        flows=flows,
    )


def _whole(inspection: Inspection, source: Source) -> Source:
    """The file with the values of a key that stands there twice put together."""
    if source.root is None:
        return source
    told = list[_Twice]()
    root = _merged(source.root, (), told)
    for parts, first, line in told:
        problem = f"this key stands here a second time; the first is in line {first}."
        fix = "Put what belongs together below one of the two, and remove the other."
        _tell(inspection, source, parts, line, problem, fix, [f'duplicate key "{parts[-1]}"'])
    if not told:
        return source
    loader = yaml.SafeLoader("")
    return replace(source, root=root, mended=loader.construct_document(copy.deepcopy(root)))


def _merged(node: yaml.Node, parts: Sequence[str], told: list[_Twice]) -> yaml.Node:
    if isinstance(node, yaml.SequenceNode):
        return _with(node, [_merged(item, (*parts, str(n)), told) for n, item in _numbered(node)])
    if not isinstance(node, yaml.MappingNode):
        return node
    pairs: _Pairs = {}
    for key, value in node.value:
        below = _merged(value, (*parts, str(key.value)), told)
        if (first := pairs.get(_known(key))) is not None:
            lines = first[0].start_mark.line + 1, key.start_mark.line + 1
            told.append(((*parts, str(key.value)), *lines))
            below = _joined(first[1], below)
        pairs[_known(key)] = (first[0] if first else key, below)
    return _with(node, list(pairs.values()))


def _joined(one: yaml.Node, other: yaml.Node) -> yaml.Node:
    """Both values where they can stand together, else the first that is one."""
    if isinstance(one, yaml.SequenceNode) and isinstance(other, yaml.SequenceNode):
        return _with(one, [*one.value, *other.value])
    if isinstance(one, yaml.MappingNode) and isinstance(other, yaml.MappingNode):
        pairs: _Pairs = {_known(key): (key, value) for key, value in one.value}
        for key, value in other.value:
            first = pairs.get(_known(key))
            pairs[_known(key)] = (first[0], _joined(first[1], value)) if first else (key, value)
        return _with(one, list(pairs.values()))
    return other if one.value == "" else one


def _known(key: yaml.Node) -> Any:
    """By what a key is the same as another; the key that merges may stand there many times."""
    if isinstance(key, yaml.ScalarNode) and key.value != _MERGE:
        return key.tag, key.value
    return id(key)


def _numbered(node: yaml.SequenceNode) -> Iterable[tuple[int, yaml.Node]]:
    return enumerate(node.value)


def _with(node: yaml.Node, value: Any) -> yaml.Node:
    """The node with another value."""
    changed = copy.copy(node)
    changed.value = value
    return changed


def _nobodys(files: Files, agents: Mapping[str, Source]) -> list[str]:
    """Names that flows call or settings are for, and that nothing bears or is near to."""
    borne = {str(section(source.values(), "agent").get("name")) for source in agents.values()}
    named = list[str]()
    for source in files.flows:
        flows = section(source.values(), "flows")
        borne |= {str(name) for name in flows}
        named += [step["call"] for step in steps(flows, "call") if "mcp_server" not in step]
    for policy in entries(files.config.values(), "policies"):
        named += map(str, section(policy, "agents"))
    named += map(str, section(section(files.endpoints.values(), "rasa_react_ext"), "agents"))
    return [
        n for n in dict.fromkeys(named) if n not in borne and not meant(n, borne, cutoff=MISSPELT)
    ]


def _check_agents(
    inspection: Inspection, agents: Mapping[str, Source], nobodys: list[str]
) -> Mapping[str, Source]:
    """Agents of one name; one of them bears another from there on.

    Args:
        inspection: Takes the second.
        agents: The agents by folder.
        nobodys: Names of which one was probably its own; those that are taken are left out.
    """
    seen: dict[str, str] = {}
    kept = dict(agents)
    for folder, source in agents.items():
        name = section(source.values(), "agent").get("name")
        if isinstance(name, str) and name in seen:
            place, first = ["agent", "name"], agents[seen[name]]
            problem = f"the agent of {first.path} is named {name!r} as well."
            fix = "Give one of the two another name."
            about = ["Agent names are duplicated", name]
            _tell(inspection, source, place, source.line(place), problem, fix, about)
            # The one whose folder has the name keeps it: the other was copied from it.
            other = seen[name] if folder == name else folder
            values = agents[other].values()
            values["agent"]["name"] = _own_name(other, seen, nobodys)
            kept[other] = replace(agents[other], mended=values)
        else:
            seen[str(name)] = folder
    return kept


def _own_name(folder: str, taken: Collection[str], nobodys: list[str]) -> str:
    """What an agent that bears another's name is called meanwhile."""
    if folder in nobodys or not nobodys:
        name = folder if folder not in taken else f"{folder}_2"
    else:
        name = nobodys[0]
    if name in nobodys:
        nobodys.remove(name)
    return name


def _check_flows(inspection: Inspection, sources: Sequence[Source]) -> None:
    seen: dict[str, Source] = {}
    for source in sources:
        for name in map(str, section(source.values(), "flows")):
            first = seen.setdefault(name, source)
            if first is not source:
                place = ["flows", name]
                problem = f"{first.path} has a flow {name!r} as well."
                for words in ("is used in both", "duplicate flow name"):  # the host says both
                    about = [repr(name), words]
                    _tell(inspection, source, place, source.line(place), problem, _KEEP_ONE, about)


def _check_domain(inspection: Inspection, sources: Sequence[Source]) -> list[Source]:
    """What two files of a domain have; it is left out of the second."""
    seen: dict[tuple[str, str], Source] = {}
    kept: list[Source] = []
    for source in sources:
        values, changed = source.values(), False
        for part in _DOMAIN:
            for name in [str(name) for name in section(values, part)]:
                first = seen.setdefault((part, name), source)
                if first is not source:
                    place = [part, name]
                    problem = f"{first.path} has {name!r} as well."
                    _tell(inspection, source, place, source.line(place), problem, _KEEP_ONE, [])
                    changed = drop(values, place) or changed
        kept.append(replace(source, mended=values) if changed else source)
    return kept


def _check_lists(inspection: Inspection, endpoints: Source) -> Source:
    """Servers and groups of models of one name; the second is left out."""
    values, changed = endpoints.values(), False
    for part, key in _LISTS:
        seen, listed = dict[str, int](), entries(values, part)
        for number, entry in enumerate(listed):
            name = str(entry.get(key) or number)
            if name in seen:
                line = endpoints.line([part, str(number)])
                first = endpoints.line([part, str(seen[name])])
                problem = f"the name {name!r} is there a second time; the first is in line {first}."
                _tell(inspection, endpoints, [part, name], line, problem, _KEEP_ONE, [])
                values[part].remove(entry)
                changed = True
            seen.setdefault(name, number)
    return replace(endpoints, mended=values) if changed else endpoints


def _tell(
    inspection: Inspection,
    source: Source,
    parts: Sequence[str],
    line: int | None,
    problem: str,
    fix: str,
    about: Sequence[str],
) -> None:
    key = ": ".join(parts)
    found = Finding(file=source.path, line=line, key=key, problem=problem, fix=fix)
    inspection.add(found, about)
