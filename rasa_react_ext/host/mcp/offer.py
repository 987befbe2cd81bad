"""What a provider is offered: schemas in its dialect, and a warning where there are too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from rasa_react_ext.mcp_pool import provider_schema

if TYPE_CHECKING:
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["fit_provider"]

MANY_TOOLS = 128
"""More tools than this are refused by several providers, and few models choose well among them."""

_log = structlog.get_logger()

Definition = Mapping[str, Any]


def fit_provider(agent: ReActAgent, definitions: Sequence[Definition]) -> Sequence[Definition]:
    """The definitions as the agent's model takes them; the same object where nothing changes."""
    if len(definitions) > MANY_TOOLS and agent.process.first_time("many_tools", agent.name):
        _log.warning(
            "rasa_react_ext.agent.many_tools",
            agent_name=agent.name,
            count=len(definitions),
            event_info=(
                f"Agent {agent.name!r} offers {len(definitions)} tools. Many providers refuse more "
                f"than {MANY_TOOLS}, and models choose badly among that many: name the ones it "
                "needs under `include_tools`."
            ),
        )
    if not _speaks_gemini(agent.llm_client):
        return definitions
    return [_in_gemini(definition) for definition in definitions]


def _in_gemini(definition: Definition) -> dict[str, Any]:
    function = dict(definition["function"])
    function["parameters"] = provider_schema(function.get("parameters") or {}, "gemini")
    function.pop("strict", None)
    return {**definition, "function": function}


def _speaks_gemini(client: object) -> bool:
    """Whether any model behind a client of the host is one of Google's Gemini models.

    Whatever the way there: its own API, Vertex, or an address that speaks OpenAI's format
    and hands the schemas on. The dialect is a part of JSON schema but for one key, so that
    other models of a router understand it, too.
    """
    group: Sequence[Mapping[str, Any]] = getattr(client, "model_configurations", None) or ()
    names = [str((each.get("litellm_params") or {}).get("model", "")) for each in group]
    names.append(f"{getattr(client, 'provider', '')}/{getattr(client, 'model', '')}")
    return any(
        name.startswith("gemini/") or name.rpartition("/")[2].startswith("gemini") for name in names
    )
