"""Sends an agent the words that were held for it while it was busy."""

from __future__ import annotations

import secrets
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

from rasa.agents.constants import A2A_AGENT_CONTEXT_ID_KEY, A2A_AGENT_TASK_ID_KEY
from rasa.shared.agents.outbound_call_hook import OutboundCallHookError

from rasa_react_ext.a2a_client import Accepted, Patience, PushTarget, Running
from rasa_react_ext.a2a_wire import Message, Task, read_state
from rasa_react_ext.errors import ExtensionError
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.apply import input_from, tell
from rasa_react_ext.host.external.mount import current_mount
from rasa_react_ext.host.external.outgoing import compose
from rasa_react_ext.store import secret_hash

if TYPE_CHECKING:
    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.host.external.desk import Desk
    from rasa_react_ext.store import RemoteTask

__all__ = ["follow_up"]

SEND_SECONDS = 20.0


async def follow_up(desk: Desk, agent: ExternalAgent, row: RemoteTask, task: Task) -> bool:
    """Send the held words, then say what the agent has found so far.

    They are sent at most once: held words are forgotten before they go out.

    Args:
        desk: The assistant.
        agent: The agent.
        row: The task, with held words.
        task: How it stopped: a reply goes to a waiting task, else a new one begins.

    Returns:
        False if the words could not be sent; the outcome is then delivered as it is.
    """
    where, url = current_mount(), agent.push_url
    message = await _message(desk, agent, row, task)
    if where is None or url is None or message is None:
        return False
    secret = secrets.token_urlsafe(32)
    await ledger.tasks().update(row.key, held="", snapshot=b"", secret_hash=secret_hash(secret))
    push = PushTarget(url=where.address(url, row.key), secret=secret, id=row.key)
    if not await _sent(agent, row, message, push):
        return False
    if read_state(task.status.state).ended:
        await tell(desk, agent, row, task, results=True)
    return True


async def _message(desk: Desk, agent: ExternalAgent, row: RemoteTask, task: Task) -> Message | None:
    tracker = await desk.processor().get_tracker(row.conversation)
    frame = ledger.frame_of(tracker.stack, row.key)
    if frame is None:
        return None
    agent_input = input_from(agent, tracker, frame)
    agent_input.user_message = row.held
    agent_input.metadata[A2A_AGENT_CONTEXT_ID_KEY] = task.context_id or row.context_id
    agent_input.metadata.pop(A2A_AGENT_TASK_ID_KEY, None)
    if read_state(task.status.state).waits:
        agent_input.metadata[A2A_AGENT_TASK_ID_KEY] = task.id
    try:
        return await compose(agent, agent_input, first=False)
    except (OutboundCallHookError, ValueError):
        return None


async def _sent(agent: ExternalAgent, row: RemoteTask, message: Message, push: PushTarget) -> bool:
    patience = Patience(deadline=time.monotonic() + SEND_SECONDS)
    running = False
    try:
        async with aclosing(agent.connection.send(message, patience, push=push)) as updates:
            async for update in updates:
                if isinstance(update, Accepted):
                    await ledger.tasks().update(row.key, task_id=update.task_id)
                running = running or isinstance(update, Running)
    except ExtensionError:
        return False
    return running
