"""Chat models that are a user's own code: a client, or `generate_and_send_response`.

That older host hook asks the model and delivers the text itself, so nothing is
delivered again. A client of the user's own is asked as the host would ask it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rasa.agents.protocol.mcp.mcp_base_agent import MCPBaseAgent
from rasa.shared.exceptions import ProviderClientAPIException

from rasa_react_ext.engine.message import ModelAnswer, ModelRequest, TokenUsage, ToolCall
from rasa_react_ext.errors import ModelError

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.engine.port import TextSink
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["HookedModel", "OwnClient", "SilentStream", "has_own_client", "has_own_generation"]


def has_own_generation(agent: ReActAgent) -> bool:
    """Whether the agent's class asks the model in its own way."""
    return type(agent).generate_and_send_response is not MCPBaseAgent.generate_and_send_response


def has_own_client(agent: ReActAgent) -> bool:
    """Whether `self.llm_client` is an object whose `acompletion` a user wrote."""
    method = getattr(agent.llm_client, "acompletion", None)
    return callable(method) and not str(getattr(method, "__module__", "")).startswith("rasa.")


class SilentStream:
    """Takes a text that the hook has already delivered."""

    async def write(self, delta: str) -> None:
        """Nothing is left to do."""

    async def close(self, *, interrupted: bool = False) -> None:
        """Nothing is left to do."""


class HookedModel:
    """Asks through the user's hook (an engine `ChatModel`)."""

    def __init__(
        self, agent: ReActAgent, agent_input: AgentInput, channel: OutputChannel | None
    ) -> None:
        self._agent = agent
        self._input = agent_input
        self._channel = channel

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelAnswer:
        """Ask once.

        Raises:
            ModelError: The host's client raised its own error for a failed request.
        """
        try:
            response, uttered = await self._agent.generate_and_send_response(
                [dict(message) for message in request.messages],
                [dict(tool) for tool in request.tools] if request.allow_tools else [],
                dict(request.metadata),
                self._input,
                self._channel,
            )
        except ProviderClientAPIException as error:
            raise ModelError(self._agent.name, str(error), kind="unavailable") from error
        answer = _answer(response)
        if uttered is not None and sink is not None and answer.text:
            await sink(answer.text)
        return answer


class OwnClient:
    """Asks through a client that only promises the host's `acompletion` (a `ChatModel`)."""

    def __init__(self, agent: ReActAgent) -> None:
        self._agent = agent

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelAnswer:
        """Ask once; the text is shown when it is whole.

        Raises:
            ModelError: The client failed, in whatever way.
        """
        more: dict[str, Any] = {"metadata": dict(request.metadata)}
        if request.tools:
            more["tools"] = [dict(tool) for tool in request.tools]
            if not request.allow_tools:
                more["tool_choice"] = "none"
        messages = [dict(message) for message in request.messages]
        try:
            answer = _answer(await self._agent.llm_client.acompletion(messages, **more))
        except Exception as error:
            raise ModelError(self._agent.name, str(error), kind="unavailable") from error
        if sink is not None and answer.text:
            await sink(answer.text)
        return answer


def _answer(response: Any) -> ModelAnswer:
    if response is None:
        return ModelAnswer()
    usage = response.usage
    return ModelAnswer(
        text=(response.choices[0] if response.choices else None) or "",
        calls=tuple(
            ToolCall(id=call.id or "", name=call.tool_name, arguments=json.dumps(call.tool_args))
            for call in response.tool_calls or ()
        ),
        usage=TokenUsage(prompt=usage.prompt_tokens, completion=usage.completion_tokens)
        if usage
        else None,
        model=response.model or "",
        first_token_ms=response.llm_time_to_first_token_ms,
        total_ms=response.latency_ms,
    )
