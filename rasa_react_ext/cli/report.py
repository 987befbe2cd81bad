"""An inspection for people: in colour in a terminal, line by line elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import AgentView, Finding, Inspection

__all__ = ["show"]

_COLOURS = {"error": "red", "warning": "yellow"}


def show(console: Console, inspection: Inspection, *, prompts: bool) -> None:
    """Print the agents, then the findings, then how many there are.

    Args:
        console: Where to; a terminal gets colours and wrapped lines.
        inspection: What was found.
        prompts: Whether each agent's whole prompt is printed.
    """
    console.soft_wrap = not console.is_terminal  # elsewhere a line stays a line
    for agent in inspection.agents:
        _show_agent(console, agent, prompts=prompts)
    if not inspection.findings:
        console.print("[green]Nothing is wrong.[/green]")
        return
    for finding in inspection.findings:
        _show_finding(console, finding)
    console.print(_count(inspection))


def _show_finding(console: Console, finding: Finding) -> None:
    """Three lines that can be copied: the place first, as compilers do."""
    place = finding.file + (f":{finding.line}" if finding.line else "")
    colour = _COLOURS[finding.level]
    console.print(f"[{colour}]{finding.level}[/{colour}] [bold]{_plain(place)}[/bold]")
    for words in (finding.key, finding.problem, finding.fix):
        if words and console.is_terminal:
            console.print(Padding(_plain(words), (0, 0, 0, 2)))
        elif words:
            console.print(f"  {_plain(words)}")
    console.print()


def _count(inspection: Inspection) -> str:
    levels = [finding.level for finding in inspection.findings]
    counts = ((levels.count(level), level) for level in ("error", "warning"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)


def _show_agent(console: Console, agent: AgentView, *, prompts: bool) -> None:
    # Whether an agent has a task, the flows tell that call it.
    kind = "kind unknown" if agent.flows is None and agent.kind != "external" else agent.kind
    console.print(f"[bold]{_plain(agent.name)}[/bold] ({kind})")
    facts = {
        "called by": _callers(agent.flows),
        "reaches": ", ".join(agent.servers) or "no server",
        "model": agent.model,
        "tools": ", ".join(agent.tools),
        "fills": ", ".join(agent.slots),
        "prompt": f"about {agent.prompt_tokens} tokens with its tools (an estimate)"
        if agent.prompt_tokens is not None
        else "",
    }
    for name, value in facts.items():
        if value:
            console.print(f"  {name:10}{_plain(value)}")
    if prompts and agent.prompt:
        console.print(_plain(agent.prompt), style="dim")
    console.print()


def _callers(flows: Sequence[str] | None) -> str:
    return "the flows cannot be read" if flows is None else ", ".join(flows) or "no flow"


def _plain(text: str) -> str:
    """Text that is shown as it is, whatever brackets it holds."""
    return text.replace("[", "\\[")
