"""The messages a model is asked with: system prompt and what was said.

A template that fails on the values of a conversation must not end it (case B103):
our own template then takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from rasa.shared.core.slot_mappings import slot_mappings_allow_llm_fill

from rasa_react_ext.engine import prompt
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.conversation import window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["messages", "rendered"]

_log = structlog.get_logger()


class _Substitute(str):
    """A prompt from our template in place of the project's."""

    __slots__ = ()


def rendered(agent: ReActAgent, agent_input: AgentInput, variables: Mapping[str, Any]) -> str:
    """The system prompt: the project's template, else ours for this kind of run."""
    template = _template(agent, agent_input)
    variables = {**variables, **_slot_names(agent_input)}
    try:
        return prompt.render(template, variables)
    except Exception as error:
        if template == _default(agent_input):
            raise
        _report(agent, error)
    return _Substitute(prompt.render(_default(agent_input), variables))


def messages(agent: ReActAgent, agent_input: AgentInput, turns: int) -> list[dict[str, Any]]:
    """System prompt and the last `turns` utterances, the user's newest one last."""
    content = agent.render_prompt_template(agent_input)
    said: list[dict[str, Any]] = []
    if isinstance(content, _Substitute) or not _shows_history(agent, agent_input):
        restarted = agent_input.id if agent_input.metadata.get("restarted") else None
        said = window(agent_input.events, turns, restarted_agent=restarted)
    last = next((m["content"] for m in reversed(said) if m["role"] == "user"), None)
    if last != agent_input.user_message:
        said.append({"role": "user", "content": agent_input.user_message})
    return [{"role": "system", "content": content}, *said]


def _shows_history(agent: ReActAgent, agent_input: AgentInput) -> bool:
    """Whether an older template shows the conversation itself."""
    return "conversation_history" in prompt.uses(_template(agent, agent_input))


def _slot_names(agent_input: AgentInput) -> dict[str, Any]:
    """The variable that only templates of task agents have: slots with a tool to set them."""
    exit_if = agent_input.metadata.get("exit_if")
    if not exit_if:
        return {}
    present = {slot.name: slot for slot in agent_input.slots}
    names = [
        name
        for name in slot_names(exit_if)
        if name not in present or slot_mappings_allow_llm_fill(present[name].mappings)
    ]
    return {"slot_names": names}


def _template(agent: ReActAgent, agent_input: AgentInput) -> str:
    own = agent.prompt_template
    return own if own != prompt.default_template("open") else _default(agent_input)


def _default(agent_input: AgentInput) -> str:
    return prompt.default_template("task" if agent_input.metadata.get("exit_if") else "open")


def _report(agent: ReActAgent, error: Exception) -> None:
    where = agent.prompt_file or "the prompt template"
    if not agent.process.first_time("prompt", agent.name, str(error)):
        return
    _log.error(
        "rasa_react_ext.prompt.not_rendered",
        agent_name=agent.name,
        prompt_template=agent.prompt_file,
        error=f"{type(error).__name__}: {error}",
        event_info=(
            f"{where} of agent {agent.name!r} cannot be rendered: {error} The default prompt "
            "is used instead. Guard the expression with {% if … %}."
        ),
    )
