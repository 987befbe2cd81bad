"""One call as the server sees it: who answers its questions while it runs.

Turns requests of the protocol into the callbacks of the host and back, in the context
of the call. What nobody answers is declined with a text that says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

from mcp import types

from rasa_react_ext.engine.tool import CallContext, Tool
from rasa_react_ext.mcp_pool.callback import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Progress,
    SamplingAnswer,
    SamplingRequest,
)
from rasa_react_ext.mcp_pool.deadline import Deadline

__all__ = ["Caller", "declined"]

Answer = TypeVar("Answer")


def declined(why: str) -> types.ErrorData:
    """The answer to a request that nobody here serves."""
    return types.ErrorData(code=types.INVALID_REQUEST, message=f"Declined by the client: {why}.")


class Caller:
    """Who made a call, and until when it may last; lives as long as the call."""

    def __init__(
        self,
        *,
        server: str,
        tool: Tool,
        context: CallContext,
        callbacks: Callbacks,
        deadline: Deadline,
    ) -> None:
        self._server = server
        self._tool = tool
        self._context = context
        self._callbacks = callbacks
        self._deadline = deadline
        self._variables = copy_context()
        self._questions: set[asyncio.Task[Any]] = set()
        self.wants_progress = bool(callbacks.progress or context.limit_seconds)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """The server says how far it is."""
        self._alive()
        if self._callbacks.progress is not None:
            report = Progress(
                server=self._server,
                tool=self._tool,
                context=self._context,
                done=progress,
                total=total,
                message=message or "",
            )
            self._variables.run(self._callbacks.progress, report)

    async def elicit(
        self, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """The server asks the user something."""
        if self._callbacks.elicit is None:
            return declined("nobody can be asked")
        form = isinstance(params, types.ElicitRequestFormParams)
        request = ElicitationRequest(
            server=self._server,
            tool=self._tool,
            context=self._context,
            message=params.message,
            schema=params.requestedSchema if form else {},
            url="" if form else params.url,
        )
        with self._deadline.held():
            answer = await self._ask(self._elicited(request))
        return answer or declined("the call is over")

    async def sample(
        self, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """The server asks for a model's answer."""
        if self._callbacks.sample is None:
            return declined("no model is offered to servers")
        request = SamplingRequest(
            server=self._server,
            tool=self._tool,
            context=self._context,
            messages=tuple((message.role, _text(message)) for message in params.messages),
            system_prompt=params.systemPrompt or "",
            max_tokens=params.maxTokens,
            temperature=params.temperature,
        )
        self._alive()
        answer = await self._ask(self._sampled(request))
        self._alive()
        return answer or declined("the call is over")

    def _alive(self) -> None:
        """A sign of life: the call may take longer, though never longer than all in all."""
        self._deadline.progressed()
        self._context.alive()

    def end(self) -> None:
        """The call has ended: open questions are dropped."""
        for question in self._questions:
            question.cancel()

    async def _elicited(self, request: ElicitationRequest) -> types.ElicitResult:
        assert self._callbacks.elicit is not None
        answer: ElicitationAnswer = await self._callbacks.elicit(request)
        content = dict(answer.content) if answer.content is not None else None
        return types.ElicitResult(action=answer.action, content=content)

    async def _sampled(self, request: SamplingRequest) -> types.CreateMessageResult:
        assert self._callbacks.sample is not None
        answer: SamplingAnswer = await self._callbacks.sample(request)
        content = types.TextContent(type="text", text=answer.text)
        return types.CreateMessageResult(
            role="assistant",
            content=content,
            model=answer.model,
            stopReason="maxTokens" if answer.cut else "endTurn",
        )

    async def _ask(self, question: Coroutine[Any, Any, Answer]) -> Answer | None:
        """Run a callback in the context of the call; None when the call ends first."""
        task = asyncio.get_running_loop().create_task(question, context=self._variables)
        self._questions.add(task)
        try:
            await asyncio.wait({task})
            return None if task.cancelled() else task.result()
        finally:
            self._questions.discard(task)
            task.cancel()


def _text(message: types.SamplingMessage) -> str:
    """The text of a message; other parts are named."""
    return "\n".join(
        part.text if isinstance(part, types.TextContent) else f"[{part.type}]"
        for part in message.content_as_list
    )
