"""What an inspection found, as plain values that a table or JSON can show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from rasa_react_ext.errors import ConfigurationError

__all__ = ["AgentView", "Finding", "Inspection", "line_of"]

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong or worth a look.

    Attributes:
        level: `error` where the assistant would not work, else `warning`.
        file: File it was found in.
        line: Line of the key, where it could be found, from 1.
        key: Dotted place in the file.
        text: What is wrong and what to write instead.
    """

    level: Level
    file: str
    line: int | None
    key: str
    text: str

    @classmethod
    def of(cls, error: ConfigurationError, root: Path) -> Finding:
        """The finding behind a configuration error."""
        file = _real_file(error.file, root)
        return cls(
            level="error",
            file=str(file) if file else error.file,
            line=line_of(root / file, error.key) if file else None,
            key=error.key,
            text=f"{error.problem} {error.fix}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """One agent as it would run.

    Attributes:
        name: Name of the agent.
        kind: `open`, `task` or `external`.
        flows: Flows that call it in this way.
        servers: Servers or address, each with its state.
        tools: Names of the tools the model is offered.
        slots: Slots a task agent fills.
        prompt: The rendered system prompt.
        prompt_tokens: Estimated tokens of prompt and tools together.
        model: Model or model group.
    """

    name: str
    kind: str
    flows: Sequence[str] = ()
    servers: Sequence[str] = ()
    tools: Sequence[str] = ()
    slots: Sequence[str] = ()
    prompt: str = ""
    prompt_tokens: int | None = None
    model: str = ""


@dataclass(slots=True)
class Inspection:
    """All findings and agents of a project."""

    findings: list[Finding] = field(default_factory=list[Finding])
    agents: list[AgentView] = field(default_factory=list[AgentView])

    @property
    def has_errors(self) -> bool:
        """Whether the assistant would not work as it is."""
        return any(finding.level == "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "agents": [asdict(agent) for agent in self.agents],
        }


def line_of(file: Path, key: str) -> int | None:
    """The line of a dotted key in a YAML file, found by its parts from the outside in."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    if (given := re.fullmatch(r"line (\d+)", key)) is not None:
        return int(given[1])
    at = -1
    for part in (part.strip() for part in key.split(": ")):
        word = re.escape(part)
        pattern = re.compile(rf"^\s*(- )?\s*((name|id|call):\s*)?['\"]?{word}['\"]?\s*(:|$|#)")
        found = next((n for n in range(at + 1, len(lines)) if pattern.match(lines[n])), None)
        at = at if found is None else found
    return at + 1 if at >= 0 else None


def _real_file(named: str, root: Path) -> Path | None:
    """The file behind a name as errors give it, such as `sub_agents: booking: config.yml`."""
    given = re.fullmatch(r"sub_agents: (?P<agent>[^:]+): config\.yml", named)
    path = Path("sub_agents", given["agent"], "config.yml") if given else Path(named)
    return path if (root / path).is_file() else None
