"""The protocol's operations on the store and the runner; one instance for all transports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    InvalidParamsError,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskNotCancelableError,
    TaskNotFoundError,
    TaskPushNotificationConfig,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from rasa_react_ext.a2a_server.call import call_of
from rasa_react_ext.a2a_server.follow import Follower
from rasa_react_ext.a2a_server.guard import guarded
from rasa_react_ext.a2a_server.identity import digest_of, new_id
from rasa_react_ext.a2a_server.intake import Accepted, Intake, check_id
from rasa_react_ext.a2a_server.page import next_token, page_of
from rasa_react_ext.a2a_server.port import Turn
from rasa_react_ext.a2a_server.record import parse_task
from rasa_react_ext.a2a_server.runner import Runner
from rasa_react_ext.a2a_server.subscription import Subscriptions
from rasa_react_ext.a2a_server.upkeep import Upkeep
from rasa_react_ext.store.served_task import ServedTasks, StoredTask
from rasa_react_ext.store.served_turn import NewTurn, ServedTurns

__all__ = ["Handler", "claim_internal"]

CANCEL_WAIT_SECONDS = 15.0

CardFor = Callable[[], Awaitable[AgentCard]]


@guarded
class Handler(RequestHandler):
    """Serves tasks; each caller sees only its own."""

    def __init__(
        self,
        *,
        tasks: ServedTasks,
        turns: ServedTurns,
        runner: Runner,
        intake: Intake,
        subscriptions: Subscriptions,
        follower: Follower,
        upkeep: Upkeep,
        extended_card: CardFor,
    ) -> None:
        self._tasks = tasks
        self._turns = turns
        self._runner = runner
        self._intake = intake
        self._subscriptions = subscriptions
        self._follower = follower
        self._upkeep = upkeep
        self._extended_card = extended_card

    @validate_request_params
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message; at once where the caller does not want to wait."""
        accepted = await self._accept(params, context, streaming=False)
        if accepted.live is None or params.configuration.return_immediately:
            return apply_history_length(accepted.task, params.configuration)
        task = await accepted.live.result()
        if task is None:
            task = parse_task((await self._own(accepted.task.id, context)).body)
        return apply_history_length(task, params.configuration)

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Answer a message as it comes; ends with the turn, or with its background work."""
        accepted = await self._accept(params, context, streaming=True)
        yield apply_history_length(accepted.task, params.configuration)
        if accepted.live is None:
            return
        async with aclosing(self._follower.turn(accepted.live)) as events:
            async for event in events:
                yield _event(event)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """A task of the caller."""
        validate_history_length(params)
        return apply_history_length(parse_task((await self._own(params.id, context)).body), params)

    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Tasks of the caller, the last changed first."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        check_id("contextId", params.context_id)
        size, page = await page_of(self._tasks, params, call_of(context).caller)
        response = ListTasksResponse(page_size=size, total_size=page.total)
        for stored in page.tasks:
            task = apply_history_length(parse_task(stored.body), params)
            if not params.include_artifacts:
                task.ClearField("artifacts")
            response.tasks.append(task)
        if page.more:
            response.next_page_token = next_token(page.tasks[-1])
        return response

    @validate_request_params
    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        """Cancel a task, wherever it runs; answers once it has ended."""
        stored = await self._own(params.id, context)
        if stored.ended:
            raise TaskNotCancelableError(f"Task {params.id} has ended as {stored.state}")
        await self._tasks.request_cancel(stored.task_id)
        self._runner.cancel(stored.task_id)
        if not await self._turns.has_open(stored.task_id):
            turn, turn_id = await claim_internal(self._turns, self._runner, stored, "cancel")
            if turn_id:
                self._runner.start_leave(turn, turn_id)
        return parse_task((await self._ended(stored.task_id, context)).body)

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """The task as it is, then what happens to it until it ends."""
        stored = await self._own(params.id, context)
        if stored.ended:
            raise UnsupportedOperationError(f"Task {params.id} has ended as {stored.state}")
        yield parse_task(stored.body)
        async with aclosing(self._follower.task(stored)) as events:
            async for event in events:
                yield _event(event)

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Subscribe to a task by push."""
        self._subscriptions.check_enabled()
        stored = await self._own(params.task_id, context)
        config = TaskPushNotificationConfig()
        config.CopyFrom(params)
        config.task_id = stored.task_id
        await self._subscriptions.put(config, call_of(context))
        return config

    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """One subscription of a task."""
        self._subscriptions.check_enabled()
        await self._own(params.task_id, context)
        for config in await self._subscriptions.of_task(params.task_id):
            if config.id == (params.id or params.task_id):
                return config
        raise TaskNotFoundError

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """All subscriptions of a task."""
        self._subscriptions.check_enabled()
        await self._own(params.task_id, context)
        configs = await self._subscriptions.of_task(params.task_id)
        return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """End a subscription."""
        self._subscriptions.check_enabled()
        await self._own(params.task_id, context)
        check_id("id", params.id)
        await self._subscriptions.remove(params.task_id, params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """The card for callers that have proven who they are."""
        return await self._extended_card()

    async def _accept(
        self, params: SendMessageRequest, context: ServerCallContext, *, streaming: bool
    ) -> Accepted:
        validate_history_length(params.configuration)
        if not self._runner.accepting:
            call_of(context).status = 503
            raise UnsupportedOperationError("the server is stopping; send the message again")
        return await self._intake.take(params, context, streaming=streaming)

    async def _own(self, task_id: str, context: ServerCallContext) -> StoredTask:
        """A task of the caller; another's is as unknown as one that does not exist."""
        check_id("id", task_id)
        caller = call_of(context).caller
        stored = await self._tasks.get(task_id, caller)
        if stored is not None and not stored.ended and await self._upkeep.fail_lost(task_id):
            stored = await self._tasks.get(task_id, caller)
        if stored is None:
            raise TaskNotFoundError(f"Task {task_id} not found")
        return stored

    async def _ended(self, task_id: str, context: ServerCallContext) -> StoredTask:
        stored = await self._own(task_id, context)
        try:
            async with asyncio.timeout(CANCEL_WAIT_SECONDS):
                while not stored.ended:
                    await self._follower.pause(task_id)
                    stored = await self._own(task_id, context)
        except TimeoutError as error:
            raise TaskNotCancelableError(
                f"Task {task_id} is being canceled, but has not ended yet"
            ) from error
        return stored


async def claim_internal(
    turns: ServedTurns, runner: Runner, stored: StoredTask, kind: str
) -> tuple[Turn, int]:
    """Claim a turn that no message asked for, so that it runs in line with the others.

    Returns:
        The turn and its number, 0 if the task has ended meanwhile.
    """
    turn = Turn(
        task_id=stored.task_id,
        caller=stored.caller,
        context_id=stored.context_id,
        message_id=f"{kind}:{new_id()}",
        conversation=stored.conversation,
    )
    claim = await turns.claim(
        NewTurn(
            caller=turn.caller,
            context_id=turn.context_id,
            message_id=turn.message_id,
            digest=digest_of(Message(message_id=turn.message_id)),
            task_id=turn.task_id,
            conversation=turn.conversation,
            runner=runner.name,
            lease_seconds=runner.lease_seconds,
            kept_seconds=24 * 3600,
        )
    )
    return turn, claim.turn_id if claim.status == "new" else 0


def _event(response: StreamResponse) -> Event:
    kind = response.WhichOneof("payload")
    if kind is None:
        raise InvalidParamsError("an empty event was stored")
    event: Event = getattr(response, kind)
    return event
