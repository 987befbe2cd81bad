"""Short words for tests of the client."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from rasa_react_ext.a2a_client import (
    Accepted,
    AgentSpec,
    Answered,
    Connection,
    Patience,
    Progress,
    Settled,
    Update,
)
from rasa_react_ext.a2a_wire import artifact_text, message_text, outbound_message
from tests.a2a_client.remote import Remote


@asynccontextmanager
async def connected(remote: Remote, **changes: Any) -> AsyncIterator[Connection]:
    """A connection that is closed at the end."""
    spec = AgentSpec(**{"name": "remote", "card": remote.card_url, "timeout_seconds": 5, **changes})
    connection = Connection(spec)
    try:
        yield connection
    finally:
        await connection.aclose()


def patience(seconds: float = 20.0, *, poll: float = 20.0) -> Patience:
    """Time for one message, with quick questions."""
    return Patience(
        deadline=time.monotonic() + seconds, poll_seconds=poll, first_delay_seconds=0.02
    )


async def send(
    connection: Connection,
    text: str,
    *,
    seconds: float = 20.0,
    poll: float = 20.0,
    context: str = "",
    task: str = "",
) -> list[Update]:
    """Everything that comes back for a text."""
    message = outbound_message(text, slots={}, metadata={}, context_id=context, task_id=task)
    return [u async for u in connection.send(message, patience(seconds, poll=poll))]


async def begun(remote: Remote) -> str:
    """A task that the agent works at until it is cancelled; the agent's name of it."""
    message = outbound_message("wait", slots={}, metadata={}, context_id="", task_id="")
    async with (
        connected(remote) as connection,
        aclosing(connection.send(message, patience())) as updates,
    ):
        async for update in updates:
            if isinstance(update, Accepted):
                return update.task_id
    raise AssertionError("the agent named no task")


def told(updates: list[Update]) -> list[str]:
    """Updates in short: what was said on the way, and how it ended."""
    short: list[str] = []
    for update in updates:
        if isinstance(update, Progress):
            short.append(f"… {update.text}")
        elif isinstance(update, Answered):
            short.append(f"message: {message_text(update.message)}")
        elif isinstance(update, Settled):
            texts = [message_text(update.task.status.message)]
            texts += [artifact_text(artifact.parts) for artifact in update.task.artifacts]
            short.append(f"{update.state}: {' | '.join(text for text in texts if text)}")
    return short


def accepted(updates: list[Update]) -> Accepted:
    """The ids of the task."""
    return next(update for update in updates if isinstance(update, Accepted))
