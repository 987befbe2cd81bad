"""Calls that stay open while the user is asked something, beyond the turn that made them.

`OpenCalls` owns them, one for the process: whatever is left of a call when its
conversation has let go of it, or when the agents are disconnected, is ended there. No
call outlives its wait for the user, and none holds anything of the host's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.mcp.answer import answering
from rasa_react_ext.host.mcp.form import Form, Speech
from rasa_react_ext.mcp_pool import ElicitationAnswer, ElicitationRequest

if TYPE_CHECKING:
    from rasa_react_ext.host.mcp.form import Heard

__all__ = ["OpenCall", "OpenCalls", "lost"]

MAX_CALLS = 1000
KEEP_SECONDS = 3600.0
"""How long the result of a call is kept whose user has not come back."""

_CLOSE_SECONDS = 5.0
_NOTED_CHARS = 300
_BECAME: Mapping[Heard, str] = {
    "accept": "the user's answer has been given to it",
    "decline": "the user declined to answer",
    "cancel": "the user's answers did not fit, so it was given none",
}


class OpenCall:
    """One call, from its start until its result has been taken.

    Belongs to the event loop it was started in.

    Args:
        tool: The tool.
        arguments: Its arguments.
        conversation: Sender id of the conversation it is made for.
        speech: The words for questions.
        wait_seconds: How long the user's answer is waited for.

    Attributes:
        id: Names the call among all of the process.
        number: Grows with every question.
        ended_at: When it ended; None while it runs.
    """

    def __init__(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        conversation: str,
        speech: Speech,
        wait_seconds: float,
    ) -> None:
        self.id = uuid4().hex
        self.tool = tool
        self.arguments = arguments
        self.conversation = conversation
        self.number = 0
        self.loop = asyncio.get_running_loop()
        self.ended_at: float | None = None
        self._speech = speech
        self._wait_seconds = wait_seconds
        self._form: Form | None = None
        self._answer: asyncio.Future[ElicitationAnswer] | None = None
        self._notes: list[str] = []
        self._news = asyncio.Event()
        self._one_by_one = asyncio.Lock()
        self._turn: CallContext | None = None
        self.task: asyncio.Task[ToolResult] | None = None

    @property
    def question(self) -> str:
        """What the user is to be asked now; empty when there is nothing."""
        return self._form.question if self._form is not None else ""

    def start(
        self, call: Callable[[CallContext], Awaitable[ToolResult]], context: CallContext
    ) -> None:
        """Begin the call.

        Args:
            call: Makes it.
            context: Its context, of which only what outlives the turn is used later.
        """

        async def run() -> ToolResult:
            return await call(replace(context, alive=self._alive, tell=self._tell))

        with answering(elicit=self._elicit):
            self.task = self.loop.create_task(run(), name=f"open call of {self.tool.name}")
        self.task.add_done_callback(self._done)

    async def outcome(self, context: CallContext) -> ToolResult:
        """Wait for the result or for a question, which the result then carries.

        Cancelling the wait ends the call.

        Args:
            context: Context of the turn that waits.
        """
        assert self.task is not None
        self._turn = context
        try:
            while not self.question and not self.task.done():
                self._news.clear()
                await self._news.wait()
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        finally:
            self._turn = None
        if not self.task.done():
            return ToolResult(
                text=f"Not finished: {self.tool.name} is asking the user {self.question!r}. Its "
                "result comes with the user's answer; do not call it again meanwhile.",
                is_error=True,
                question=self.question,
            )
        if self.task.cancelled():
            return lost(self.tool)
        return self._told(self.task.result())

    def hear(self, message: str, number: int) -> None:
        """Take the user's message.

        Args:
            message: The message.
            number: Of the question it answers; an answer to another one is not used.
        """
        form, answer = self._form, self._answer
        if form is None or answer is None or answer.done() or number != self.number:
            return
        heard = form.hear(message)
        self.number += 1
        if heard == "open":
            return
        self._form = None
        self._note(form, _BECAME[heard])
        accepted = heard == "accept"
        content = form.content if accepted and form.schema else None
        answer.set_result(ElicitationAnswer(action=heard, content=content))

    async def _elicit(self, request: ElicitationRequest) -> ElicitationAnswer:
        """Ask the user, in whatever turn; see `Callbacks`."""
        told = "\n".join(filter(None, (request.message, request.url)))
        async with self._one_by_one:
            form = Form(message=told, schema=request.schema, speech=self._speech)
            self._form, self._answer = form, self.loop.create_future()
            self.number += 1
            self._news.set()
            try:
                async with asyncio.timeout(self._wait_seconds):
                    return await self._answer
            except TimeoutError:
                self._note(form, f"no answer came within {self._wait_seconds:g} seconds")
                return ElicitationAnswer(action="cancel")
            finally:
                self._form = None

    def _note(self, form: Form, became: str) -> None:
        asked = form.message[:_NOTED_CHARS]
        self._notes.append(f"{self.tool.name} asked the user {asked!r}; {became}.")

    def _told(self, result: ToolResult) -> ToolResult:
        """The result for the model, which is told what became of the questions."""
        if not self._notes:
            return result
        notes = " ".join(self._notes)
        return replace(result, text=f"[{notes}]\n{result.text}", whole=result.full_text)

    def _alive(self) -> None:
        if self._turn is not None:
            self._turn.alive()

    async def _tell(self, text: str) -> None:
        if self._turn is not None:
            await self._turn.tell(text)

    def _done(self, task: asyncio.Task[ToolResult]) -> None:
        self.ended_at = time.monotonic()
        self._news.set()
        if not task.cancelled():
            task.exception()  # whoever asks for the result gets it; nobody has to


def lost(tool: Tool) -> ToolResult:
    """The result of a call that this process does not know any more."""
    text = f"{tool.name}: the call waited for the user's answer and was lost on the way."
    if tool.read_only:
        return ToolResult(text=f"{text} Call it again if it is still needed.", is_error=True)
    return ToolResult(
        text=f"{text} The outcome is unknown: it may have taken effect. Check before you call it "
        "again.",
        is_error=True,
        outcome_unknown=True,
    )


class OpenCalls:
    """The open calls of a process, by id."""

    def __init__(self, *, max_calls: int = MAX_CALLS) -> None:
        self._max_calls = max_calls
        self._calls: dict[str, OpenCall] = {}
        self._ending: set[asyncio.Task[ToolResult]] = set()

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def calls(self) -> tuple[OpenCall, ...]:
        """All of them, the oldest first."""
        return tuple(self._calls.values())

    @property
    def full(self) -> bool:
        """Whether no further call may ask its user."""
        return len(self._calls) >= self._max_calls

    def add(self, call: OpenCall) -> None:
        """Own a call from now on; results that nobody took for long are dropped."""
        oldest = time.monotonic() - KEEP_SECONDS
        for old in [c for c in self._calls.values() if c.ended_at and c.ended_at < oldest]:
            self.drop(old)
        self._calls[call.id] = call

    def get(self, call_id: str) -> OpenCall | None:
        """A call of the running event loop; one of another loop is lost."""
        call = self._calls.get(call_id)
        return call if call is not None and call.loop is asyncio.get_running_loop() else None

    def drop(self, call: OpenCall) -> None:
        """Forget a call, and end it if it still runs."""
        self._calls.pop(call.id, None)
        task = call.task
        if task is None or task.done():
            return
        if call.loop is not _running_loop():
            if call.loop.is_running():
                call.loop.call_soon_threadsafe(task.cancel)
            return
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    def keep_only(self, conversation: str, known: Collection[str]) -> None:
        """End the calls of a conversation but for these."""
        for call in list(self._calls.values()):
            if call.conversation == conversation and call.id not in known:
                self.drop(call)

    async def aclose(self) -> None:
        """End every call; bounded."""
        for call in list(self._calls.values()):
            self.drop(call)
        if self._ending:
            await asyncio.wait(self._ending, timeout=_CLOSE_SECONDS)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
