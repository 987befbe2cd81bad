"""The agent's model answers servers that ask for it in the middle of a call.

Bounded in number and length; no tools, no conversation, nothing but what the server
sends. The user sees none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine.message import Message, ModelRequest
from rasa_react_ext.engine.source import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.errors import LimitError
from rasa_react_ext.host.mcp.answer import answering
from rasa_react_ext.mcp_pool import SamplingAnswer, SamplingRequest

if TYPE_CHECKING:
    from rasa_react_ext.engine.port import ChatModel, ToolSource
    from rasa_react_ext.host.mcp.settings import ToolSettings

__all__ = ["Sampled"]

MAX_CALLS = 3
MAX_TOKENS = 1000
MAX_PROMPT_CHARS = 100_000
_CUT = {"length", "max_tokens"}


class Sampled(Wrapper):
    """Tools whose servers may ask the model.

    Args:
        source: Source of the tools.
        settings: The agent's settings.
        model: Gives the agent's model.
        metadata: Tracing metadata for the model call.
    """

    def __init__(
        self,
        source: ToolSource,
        settings: ToolSettings,
        model: Callable[[], ChatModel],
        metadata: Mapping[str, Any],
    ) -> None:
        super().__init__(source)
        self._settings = settings
        self._model = model
        self._metadata = metadata

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool; the counting begins anew for each call."""
        with answering(sample=self._sampler()):
            return await self._source.call(tool, arguments, context)

    def _sampler(self) -> Callable[[SamplingRequest], Any]:
        allowed = self._settings.sampling_max_calls or MAX_CALLS
        asked = 0

        async def sample(request: SamplingRequest) -> SamplingAnswer:
            nonlocal asked
            asked += 1
            if asked > allowed:
                raise LimitError("steps", f"the model answers {allowed} times in one call")
            return await self._sampled(request)

        return sample

    async def _sampled(self, request: SamplingRequest) -> SamplingAnswer:
        messages = _messages(request)
        if sum(len(message["content"]) for message in messages) > MAX_PROMPT_CHARS:
            raise LimitError("tokens", f"more than {MAX_PROMPT_CHARS} characters were sent")
        answer = await self._model().ask(
            ModelRequest(
                messages=messages,
                timeout_seconds=request.context.timeout_seconds,
                metadata=self._metadata,
                max_tokens=min(
                    max(1, request.max_tokens), self._settings.sampling_max_tokens or MAX_TOKENS
                ),
            )
        )
        return SamplingAnswer(
            text=answer.text,
            model=answer.model or "unknown",
            cut=answer.finish_reason in _CUT,
        )


def _messages(request: SamplingRequest) -> list[Message]:
    """The server's messages in a form that every provider accepts."""
    system = [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
    merged: list[Message] = []
    for role, text in request.messages:
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += f"\n{text}"
        else:
            merged.append({"role": role, "content": text})
    return [*system, *merged]
