"""One message and all that comes back, through broken and silent streams.

A message that may have begun work is never sent again. From the moment the task's id is
known, nothing is lost by a broken connection: the task is listened to or asked about.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, NoReturn, TypeVar

from a2a.types import (
    AuthenticationInfo,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskPushNotificationConfig,
)

from rasa_react_ext.a2a_client.fault import Fault, read_fault, untrusted_error
from rasa_react_ext.a2a_client.lane import Lane
from rasa_react_ext.a2a_client.spec import AgentSpec, Patience, PushTarget
from rasa_react_ext.a2a_client.update import (
    Accepted,
    Answered,
    Progress,
    Running,
    Settled,
    Update,
)
from rasa_react_ext.a2a_wire import (
    Assembly,
    Message,
    State,
    StreamResponse,
    has_streaming,
    message_text,
)
from rasa_react_ext.errors import (
    ConfigurationError,
    ConnectionLostError,
    LimitError,
    OutcomeUnknownError,
    PeerError,
)

__all__ = ["Exchange"]

MAX_DELAY_SECONDS = 5.0
MAX_LISTENS = 5
LISTEN_SECONDS = 10.0
FORGOTTEN_AFTER = 3
_T = TypeVar("_T")
_RUNNING = (State.SUBMITTED, State.WORKING, State.UNKNOWN)


class _SilentError(Exception):
    """Nothing came for as long as one may wait."""


class Exchange:
    """One message on its way."""

    def __init__(
        self,
        spec: AgentSpec,
        lane: Lane,
        message: Message,
        patience: Patience,
        push: PushTarget | None,
    ) -> None:
        self._spec = spec
        self._lane = lane
        self._message = Message()
        self._message.CopyFrom(message)
        self._patience = patience
        self._push = push
        self._assembly = Assembly()
        self._accepted = False
        self._said: set[str] = set()
        self._over = False
        self._attempts = 0
        self._moved = False
        self._streams = False

    async def updates(self) -> AsyncGenerator[Update]:
        """Everything that comes back; see `Connection.send` for what is raised."""
        card = await self._in_time(self._lane.card(attempts=2))
        self._streams = has_streaming(card) and self._push is None
        async with aclosing(self._opening()) as responses:
            async for response in responses:
                for update in self._take(response, first_hand=True):
                    yield update
        if self._over:
            return
        if self._push is not None and self._assembly.task.id:
            yield Running(task=self._assembly.task)
            return
        async with aclosing(self._follow()) as followed:
            async for update in followed:
                yield update

    # The message itself

    async def _opening(self) -> AsyncGenerator[StreamResponse]:
        """Send the message; ends when the answer ends or breaks with a known task."""
        while True:
            try:
                stream = self._lane.send(self._request(), streaming=self._streams)
                async with aclosing(self._heard(stream)) as responses:
                    async for response in responses:
                        yield response
                if not self._assembly.task.id and self._assembly.message is None:
                    await self._look_for_task(Fault(text="the agent ended its answer at once"))
                return
            except (PeerError, LimitError, ConfigurationError):
                raise
            except Exception as error:  # noqa: BLE001 - the SDK raises what its parsers raise
                fault = _fault(error)
            if self._over or self._assembly.task.id:
                return
            if not await self._may_send_again(fault):
                await self._look_for_task(fault)
                return

    def _request(self) -> SendMessageRequest:
        configuration = SendMessageConfiguration()
        if self._push is not None:
            configuration.return_immediately = True
            configuration.task_push_notification_config.CopyFrom(
                TaskPushNotificationConfig(
                    id=self._push.id,
                    url=self._push.url,
                    token=self._push.secret,
                    authentication=AuthenticationInfo(
                        scheme="Bearer", credentials=self._push.secret
                    ),
                )
            )
        return SendMessageRequest(message=self._message, configuration=configuration)

    async def _may_send_again(self, fault: Fault) -> bool:
        """Whether the message surely began nothing and has another chance.

        Raises:
            PeerError: The agent refused the message, or is not trusted.
            ConnectionLostError: The agent could not be reached often enough.
        """
        if fault.began:
            return False
        if fault.moved and not self._moved:
            self._moved = True
            await self._in_time(self._lane.card(newer_than=time.monotonic()))
            return True
        if (fault.closed or fault.gone) and self._message.task_id:
            self._message.task_id = ""
            return True
        if fault.untrusted:
            raise untrusted_error(self._spec.name)
        if fault.refused:
            raise PeerError(
                self._spec.name, f"Agent {self._spec.name!r} refused the message: {fault.text}."
            )
        if self._attempts >= self._spec.max_retries or not await self._pause():
            raise ConnectionLostError(
                self._spec.name,
                f"Agent {self._spec.name!r} cannot be reached: {fault.text}. "
                "Check that it runs and that the address in its card is right.",
            )
        return True

    async def _pause(self) -> bool:
        """Wait before another attempt; False if there is no time for one."""
        delay = min(0.25 * 2**self._attempts, MAX_DELAY_SECONDS)
        self._attempts += 1
        if time.monotonic() + delay >= self._patience.deadline:
            return False
        await asyncio.sleep(delay)
        return True

    async def _look_for_task(self, fault: Fault) -> None:
        """Find the task that a message without an answer may have begun.

        Raises:
            OutcomeUnknownError: The agent does not tell.
        """
        cause: Exception | None = None
        try:
            async with asyncio.timeout(self._spec.timeout_seconds):
                task = await self._in_time(
                    self._lane.find_task(self._message.context_id, self._message.message_id)
                )
        except LimitError:
            raise
        except Exception as error:  # noqa: BLE001 - agents without this method answer in many ways
            task, cause = None, error
        if task is None:
            raise OutcomeUnknownError(
                self._spec.name,
                f"Agent {self._spec.name!r} got the message, but its answer was lost "
                f"({fault.text}) and it does not tell of the task. It is not sent again, since "
                "that might do the work twice.",
            ) from cause
        self._assembly.task.id = task.id
        self._assembly.task.context_id = task.context_id

    # The task afterwards

    async def _follow(self) -> AsyncGenerator[Update]:
        """Listen to the task or ask about it, until it stops or the time is over."""
        until = self._until()
        delay, listens, forgotten = self._patience.first_delay_seconds, 0, 0
        for update in self._acceptance():
            yield update
        while True:
            fault = await self._ask(until)
            for update in self._snapshot():
                yield update
            if self._over:
                return
            forgotten = forgotten + 1 if fault is not None and fault.gone else 0
            if forgotten == FORGOTTEN_AFTER:
                raise PeerError(
                    self._spec.name,
                    f"Agent {self._spec.name!r} no longer knows task {self._assembly.task.id}.",
                )
            if self._streams and fault is None and listens < MAX_LISTENS:
                listens += 1
                async with aclosing(self._listen()) as updates:
                    async for update in updates:
                        until = self._until()
                        yield update
                if self._over:
                    return
            if time.monotonic() + delay >= until:
                self._give_up(fault)
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY_SECONDS)

    def _until(self) -> float:
        return min(self._patience.deadline, time.monotonic() + self._patience.poll_seconds)

    async def _ask(self, until: float) -> Fault | None:
        """Read the task; what went wrong, if something did."""
        try:
            seconds = min(self._spec.timeout_seconds, until - time.monotonic())
            async with asyncio.timeout(max(seconds, 0.01)):
                task = await self._lane.task(self._assembly.task.id)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task is asked about again
            return _fault(error)
        self._assembly.replace(task)
        return None

    async def _listen(self) -> AsyncGenerator[Update]:
        """Subscribe to the task; ends when the stream ends or breaks."""
        try:
            stream = self._lane.subscribe(self._assembly.task.id)
            async with aclosing(self._heard(stream, LISTEN_SECONDS)) as responses:
                async for response in responses:
                    for update in self._take(response, first_hand=False):
                        yield update
        except LimitError:
            raise
        except Exception:  # noqa: BLE001 - an agent without this method is asked instead
            return

    # What came

    def _take(self, response: StreamResponse, *, first_hand: bool) -> Iterator[Update]:
        """Take one event of a stream.

        Args:
            response: The event.
            first_hand: Whether it answers the message. A reply to a waiting task may
                then begin with the task as it was before the reply.
        """
        replied = bool(self._message.task_id)
        old = first_hand and replied and response.HasField("task")
        if self._over or not self._assembly.add(response):
            return
        if self._assembly.message is not None:
            self._over = True
            yield Answered(message=self._assembly.message)
            return
        yield from self._acceptance()
        if old and not self._waits_for_end and self._assembly.state.waits:
            return
        yield from self._state(by_text=response.HasField("task"))

    @property
    def _waits_for_end(self) -> bool:
        """Whether the answer to the message comes when the agent has stopped."""
        return not self._streams and self._push is None

    def _snapshot(self) -> Iterator[Update]:
        yield from self._state(by_text=True)

    def _acceptance(self) -> Iterator[Update]:
        task = self._assembly.task
        if not self._accepted and task.id:
            self._accepted = True
            yield Accepted(task_id=task.id, context_id=task.context_id)

    def _state(self, *, by_text: bool) -> Iterator[Update]:
        """What the state says; `by_text` where the same words may have come before."""
        task, state = self._assembly.task, self._assembly.state
        if state.stopped:
            self._over = True
            yield Settled(task=task, state=state)
            return
        if state not in _RUNNING or not task.status.HasField("message"):
            return
        message = task.status.message
        text = message_text(message)
        key = message.message_id or (text if by_text else "")
        if not text or (key and key in self._said):
            return
        self._said.update({key, text} if not message.message_id else {key})
        yield Progress(text=text, message_id=message.message_id, task=task)

    # Time

    async def _heard(
        self, stream: AsyncGenerator[StreamResponse], longest_seconds: float | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """A stream whose silence ends it.

        Once all is known the rest is nobody's business here: the lane reads it to its end,
        so that its connection can be used again.
        """
        silence = min(self._spec.timeout_seconds, longest_seconds or self._spec.timeout_seconds)
        handed_over = False
        try:
            while True:
                left = self._patience.deadline - time.monotonic()
                try:
                    async with asyncio.timeout(max(0.0, min(silence, left))):
                        response = await anext(stream)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    if time.monotonic() >= self._patience.deadline:
                        self._give_up()
                    raise _SilentError from error
                yield response
                if self._over:
                    handed_over = True
                    self._lane.drain(stream)
                    return
        finally:
            if not handed_over:
                await stream.aclose()

    async def _in_time(self, work: Coroutine[Any, Any, _T]) -> _T:
        try:
            async with asyncio.timeout(max(0.0, self._patience.deadline - time.monotonic())):
                return await work
        except TimeoutError:
            self._give_up()

    def _give_up(self, fault: Fault | None = None) -> NoReturn:
        if fault is not None:
            raise LimitError(
                "time",
                f"Agent {self._spec.name!r} got the message, but cannot be asked what became of "
                f"it: {fault.text}. Check that it still runs.",
            )
        raise LimitError(
            "time",
            f"Agent {self._spec.name!r} did not finish in time. Raise max_polling_time and "
            "TICKET_LOCK_LIFETIME, or let it report by itself (push_notification_url).",
        )


def _fault(error: Exception) -> Fault:
    if isinstance(error, _SilentError | TimeoutError):
        return Fault(text="no answer in time")
    return read_fault(error)
