"""Where in an agent's own class something is wrong, and with which of its tools."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rasa.agents.protocol.mcp.mcp_base_agent import MCPBaseAgent
from rasa.agents.schemas import CustomToolSchema

from rasa_react_ext.explain.setting import meant
from rasa_react_ext.host.inspection.finding import Finding

__all__ = ["tool_fault"]

_EXECUTOR = "tool_executor"
_FORM = f"type: function, function: (name, description, parameters) and {_EXECUTOR}"


def tool_fault(error: BaseException, module: str) -> Finding | None:
    """A definition of a Python tool by which a class cannot be built.

    Args:
        error: What was raised while it was built.
        module: The class, as the agent's file names it.

    Returns:
        What is wrong, at the method that defines the tools; None where it is something else.
    """
    agent = _half_built(error)
    method = getattr(type(agent), "get_custom_tool_definitions", None)
    if agent is None or method is None:
        return None
    for number, tool in enumerate(agent.get_custom_tool_definitions(), 1):
        try:
            CustomToolSchema.from_dict(tool)
        except Exception as refusal:  # noqa: BLE001 - the host raises many kinds
            path, here = Path(method.__code__.co_filename), Path.cwd()
            problem, fix = _explained(tool, refusal)
            return Finding(
                file=str(path.relative_to(here) if path.is_relative_to(here) else path),
                line=method.__code__.co_firstlineno,
                key=method.__name__,
                problem=f"the tool {_name(tool) or f'number {number}'} of {module!r} {problem}",
                fix=fix,
            )
    return None


def _half_built(error: BaseException) -> MCPBaseAgent | None:
    """The agent that was being built when its tools were refused."""
    agent: MCPBaseAgent | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name, owner = frame.f_code.co_name, frame.f_locals.get("self")
        if name == "__init__" and isinstance(owner, MCPBaseAgent):
            agent = owner
        elif name == "get_custom_tool_definitions":
            return None  # it raised itself
    return agent


def _explained(tool: Any, refusal: Exception) -> tuple[str, str]:
    if isinstance(tool, Mapping) and _EXECUTOR not in tool:
        near = meant(_EXECUTOR, map(str, tool))
        fix = f'Add "{_EXECUTOR}" beside "function": the method that runs the tool.'
        if near:
            fix = f"Write {_EXECUTOR!r} in place of {near!r}."
        return f"has no {_EXECUTOR}.", fix
    words = " ".join(str(refusal).split()).rstrip(".") or type(refusal).__name__
    return f"is refused: {words}.", f"Return dictionaries with {_FORM}."


def _name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return repr(name) if isinstance(name, str) and name else ""
