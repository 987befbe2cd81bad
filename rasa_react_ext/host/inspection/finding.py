"""What an inspection found, as plain values that a table or JSON can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["AgentView", "Finding", "Inspection", "Level"]

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong or worth a look.

    Attributes:
        level: `error` where the assistant would not work, else `warning`.
        file: File it was found in, from the project's folder.
        line: Line of the key, where it could be found, from 1.
        key: Place in the file, its parts joined by `: `.
        problem: What is wrong.
        fix: What to write or do instead.
    """

    level: Level = "error"
    file: str
    line: int | None = None
    key: str = ""
    problem: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """One agent as it would run.

    Attributes:
        name: Name of the agent.
        kind: `open`, `task` or `external`.
        flows: Flows that call it in this way; None where the flows could not be read.
        servers: Servers or address, each with its state.
        tools: Names of the tools the model is offered.
        slots: Slots a task agent fills.
        prompt: The rendered system prompt.
        prompt_tokens: Estimated tokens of prompt and tools together.
        model: Model or model group.
    """

    name: str
    kind: str
    flows: Sequence[str] | None = ()
    servers: Sequence[str] = ()
    tools: Sequence[str] = ()
    slots: Sequence[str] = ()
    prompt: str = ""
    prompt_tokens: int | None = None
    model: str = ""


@dataclass(slots=True)
class Inspection:
    """All findings and agents of a project; the same mistake is kept once."""

    findings: list[Finding] = field(default_factory=list[Finding])
    agents: list[AgentView] = field(default_factory=list[AgentView])
    _told: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    @property
    def has_errors(self) -> bool:
        """Whether the assistant would not work as it is."""
        return any(finding.level == "error" for finding in self.findings)

    def add(self, finding: Finding, about: Sequence[str] = ()) -> None:
        """Keep a finding, unless the same place was found wrong before.

        Args:
            finding: What was found.
            about: Words by which another report of the same mistake is known.
        """
        if about:
            self._told.append(tuple(about))
        if not any(_same(finding, known) for known in self.findings):
            self.findings.append(finding)

    def told(self, words: str) -> bool:
        """Whether somebody else's words are about a mistake that was found before."""
        return any(all(word in words for word in about) for about in self._told)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "agents": [asdict(agent) for agent in self.agents],
        }


def _same(one: Finding, other: Finding) -> bool:
    """Whether two findings tell of one place; without a key and a line, of one problem."""
    if (one.file, one.key, one.line) != (other.file, other.key, other.line):
        return False
    return bool(one.key) or one.line is not None or one.problem == other.problem
