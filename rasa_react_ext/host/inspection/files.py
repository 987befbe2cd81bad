"""All files of a project, and where in them an error or a line of the log belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.inspection.finding import Finding, Level
from rasa_react_ext.host.inspection.source import (
    Source,
    read_keys,
    read_source,
    read_sources,
    section,
)
from rasa_react_ext.host.inspection.wanted_form import wanted_form

__all__ = ["Files", "parts_of", "read_files"]

_AGENT_FILE = re.compile(r"sub_agents: (?P<agent>[^:]+?)(: config\.yml)?")
_FLOW_FILE = re.compile(r"flow '(?P<flow>[^']+)'")
_SHOWN = 300
_PREFIX = re.compile(
    r"(?P<file>sub_agents: [^:]+(?:: config\.yml)?|flow '[^']+'|[^\s:]+\.\w+): (?P<rest>.*)", re.S
)
_KEYS = re.compile(r"((?:[\w.-]+: )*)(.*)", re.S)
_NAMED_FILE = re.compile(r"['\"]([^'\"]+\.ya?ml)['\"]")
_NAMED_FLOW = re.compile(r"flow '([^']+)'")
_NAMED_STEP = re.compile(r"step '([^']+)'")
_NAMED_AGENT = re.compile(r"[Aa]gent '([^']+)'")
_NAMED_GROUP = re.compile(r"model[ -]group '([^']+)'")
_NAMED_SLOT = re.compile(r"[Ss]lot '([^']+)'")
_LINE = re.compile(r"\(?[Ll]ine:? (\d+)")
_ADVICE = re.compile(r"(?<=[.!:]) (?=Please |Make sure |Set |Supported |Available |Refer )")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What is written, read without the host.

    Attributes:
        config: config.yml.
        endpoints: endpoints.yml.
        credentials: credentials.yml.
        agents: The config.yml of each folder below sub_agents, by the folder's name.
        domain: The domain's files.
        flows: The files with flows.
    """

    config: Source
    endpoints: Source
    credentials: Source
    agents: Mapping[str, Source]
    domain: Sequence[Source]
    flows: Sequence[Source]

    def all(self) -> list[Source]:
        """Every file."""
        return [
            *(self.config, self.endpoints, self.credentials),
            *self.agents.values(),
            *self.domain,
            *self.flows,
        ]

    def agent(self, name: str) -> Source:
        """The file of an agent, by its own name or its folder's."""
        named = (
            s for s in self.agents.values() if section(s.values(), "agent").get("name") == name
        )
        return next(named, None) or self.agents.get(
            name, Source(path=f"sub_agents/{name}/config.yml")
        )

    def flow(self, name: str) -> Source:
        """The file that has a flow."""
        found = (source for source in self.flows if source.has(["flows", name]))
        return next(found, Source(path="flows"))

    def refused(self, error: ConfigurationError) -> Finding:
        """The finding behind one of our own errors."""
        return self._placed("error", error.file, parts_of(error.key), error.problem, error.fix)

    def logged(self, level: Level, event: Mapping[str, Any]) -> Finding:
        """The finding behind a line that one of our checks logged."""
        text = str(event.get("event_info") or event.get("event"))
        prefix = _PREFIX.match(text)
        if prefix is None:
            return Finding(level=level, file="config.yml", problem=text)
        keys, words = (_KEYS.match(prefix["rest"]) or prefix).groups()[-2:]
        parts, name = parts_of(keys.rstrip(": ")), prefix["file"]
        extra = [str(event.get("tool_name", "")), words.partition(" ")[0]]
        parts += [part for part in extra if part and self._line(name, [*parts, part])]
        problem, _, fix = words.partition(". ")
        finding = self._placed(level, name, parts, f"{problem}." if fix else problem, fix)
        return _at_variable(finding, event.get("variables"))

    def said(self, words: str, fallback: str) -> Finding:
        """The finding behind words of the host, which names things in its own ways.

        Args:
            words: What it said.
            fallback: File to blame where it names none.
        """
        file, parts = fallback, list[str]()
        if (flow := _NAMED_FLOW.search(words)) is not None:
            step = _NAMED_STEP.search(words)
            file, parts = f"flow '{flow[1]}'", [step[1]] if step else []
        elif (agent := _NAMED_AGENT.search(words)) is not None:
            file = f"sub_agents: {agent[1]}"
        elif fallback == self.endpoints.path and (group := _NAMED_GROUP.search(words)):
            parts = ["model_groups", group[1]]
        elif (slot := _NAMED_SLOT.search(words)) and (owner := self._with_slot(slot[1])):
            file, parts = owner.path, ["slots", slot[1]]
        elif (named := _NAMED_FILE.search(words)) is not None and self.place(named[1])[0].root:
            file = named[1]
        if not parts and (line := _LINE.search(words)) is not None:
            parts = [f"line {line[1]}"]
        problem, fix = (*_ADVICE.split(words, maxsplit=1), "")[:2]
        return self._placed("error", file, parts, f"Rasa says: {problem}", fix)

    def misshapen(self, finding: Finding, fault: Any, error: BaseException) -> Finding:
        """A finding at the place of a fault that the host's schema of a file has found."""
        source, parts = self.place(finding.file)[0], list(map(str, fault.path))
        words = " ".join(str(fault.message).split())
        return replace(
            finding,
            line=source.line(parts) or finding.line,
            key=": ".join(parts),
            problem=f"Rasa says: {words[:_SHOWN]}{'' if len(words) <= _SHOWN else ' …'}",
            fix=wanted_form(error, parts) or "Give it the form that is needed there.",
        )

    def place(self, name: str) -> tuple[Source, list[str]]:
        """The file behind a name as errors give it, with the keys that the name implies."""
        if (agent := _AGENT_FILE.fullmatch(name)) is not None:
            return self.agent(agent["agent"]), []
        if (flow := _FLOW_FILE.fullmatch(name)) is not None:
            return self.flow(flow["flow"]), ["flows", flow["flow"]]
        path = _from_here(name)
        known = next((source for source in self.all() if source.path == path), None)
        return known or Source(path=path), []

    def _with_slot(self, name: str) -> Source | None:
        """The file of the domain that has a slot."""
        return next((source for source in self.domain if source.has(["slots", name])), None)

    def _line(self, name: str, parts: Sequence[str]) -> bool:
        """Whether the last part can be found at its place."""
        source, implied = self.place(name)
        return source.line([*implied, *parts]) != source.line([*implied, *parts[:-1]])

    def _placed(
        self, level: Level, name: str, parts: Sequence[str], problem: str, fix: str
    ) -> Finding:
        source, implied = self.place(name)
        given = re.fullmatch(r"line (\d+)", parts[-1]) if parts else None
        return Finding(
            level=level,
            file=source.path,
            line=int(given[1]) if given else source.line([*implied, *parts]),
            key="" if given else ": ".join([*implied, *parts]),
            problem=problem,
            fix=fix,
        )


def read_files(domain: str, data: Sequence[str]) -> Files:
    """Read the YAML files of the project in the working directory.

    Args:
        domain: Domain file or folder.
        data: Files and folders with flows.
    """
    folders = sorted(path for path in Path("sub_agents").glob("*") if path.is_dir())
    return Files(
        config=read_keys(Path("config.yml")),
        endpoints=read_keys(Path("endpoints.yml")),
        credentials=read_source(Path("credentials.yml")),
        agents={folder.name: read_keys(folder / "config.yml") for folder in folders},
        domain=read_sources(Path(domain)),
        flows=[source for path in data for source in read_sources(Path(path))],
    )


def parts_of(key: str) -> list[str]:
    """The parts of a place as errors give it."""
    return [part.strip() for part in key.split(": ") if part.strip()]


def _from_here(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _at_variable(finding: Finding, variables: Any) -> Finding:
    """With the line in a template that first mentions one of its unknown variables."""
    path = Path(finding.file)
    if not variables or not path.is_file():
        return finding
    lines = path.read_text(encoding="utf-8").splitlines()
    word = re.compile(rf"\b({'|'.join(map(re.escape, variables))})\b")
    line = next((number for number, text in enumerate(lines, 1) if word.search(text)), None)
    return Finding(
        level=finding.level,
        file=finding.file,
        line=line,
        key=", ".join(variables),
        problem=finding.problem,
        fix=finding.fix,
    )
