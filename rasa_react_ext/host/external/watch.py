"""Notices at the end of each turn that a conversation has let go of a task.

Whether the user cancelled, the flow was restarted or failed: a task that no frame knows
any more is cancelled at its agent.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pluggy
from rasa.agents.agent_manager import AgentManager
from rasa.agents.core.types import ProtocolType
from rasa.plugin import plugin_manager
from rasa.shared.agents.utils import make_agent_identifier
from rasa.shared.core.events import AgentCancelled, UserUttered

from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.agent import ExternalAgent
from rasa_react_ext.host.external.observed import observed_after_turn

if TYPE_CHECKING:
    from rasa.shared.core.trackers import DialogueStateTracker

    from rasa_react_ext.store import RemoteTask

__all__ = ["agent_named", "end_tasks", "register_watch"]

NAME = "rasa_react_ext.external"
_hookimpl = pluggy.HookimplMarker("rasa")


class Watch:
    """The host's plug-in hook that we use."""

    @_hookimpl
    def after_prediction_loop_end(self, tracker: DialogueStateTracker) -> None:
        """Compare the open tasks of a conversation with what its stack knows."""
        conversation = tracker.sender_id
        # Another process may have begun the task that this turn has ended.
        if conversation not in ledger.watched and not _cancelled_one(tracker):
            return
        known = ledger.keys_in(tracker.stack.frames)
        agent = next(iter(_agents()), None)
        if agent is not None:
            work = _let_go(conversation, known, time.time())
            agent.chores.start(work, f"watch over {conversation}")


def _cancelled_one(tracker: DialogueStateTracker) -> bool:
    """Whether an agent was cancelled since the user spoke last."""
    for event in reversed(tracker.events):
        if isinstance(event, AgentCancelled):
            return True
        if isinstance(event, UserUttered):
            return False
    return False


async def _let_go(conversation: str, known: set[str], moment: float) -> None:
    open_tasks = await ledger.tasks().open_of(conversation)
    if not open_tasks:
        ledger.watched.pop(conversation, None)
    await end_tasks(
        [task for task in open_tasks if task.key not in known and task.created_at <= moment]
    )
    # Without the channel nobody else would.
    await ledger.tasks().forget_old()


async def end_tasks(tasks: list[RemoteTask]) -> int:
    """Cancel tasks at their agents and close them; how many were stopped.

    One that cannot be stopped now stays open, and is tried again by the upkeep.
    """
    stopped = 0
    for task in tasks:
        agent = agent_named(task.agent)
        if agent is None or not task.task_id or await _cancelled(agent, task):
            await ledger.tasks().close(task.key)
            stopped += 1
    return stopped


async def _cancelled(agent: ExternalAgent, task: RemoteTask) -> bool:
    with observed_after_turn("cancel_task", task) as watch:
        done = await agent.connection.cancel(task.task_id)
        # It is tried again and again: the record holds what came of it only.
        watch.ended("cancelled" if done else "not_reached", failed=not done, recorded=done)
    return done


def agent_named(name: str) -> ExternalAgent | None:
    """Our object for an external agent of the loaded model."""
    identifier = make_agent_identifier(name, ProtocolType.A2A)
    agent = AgentManager().agents.get(identifier)
    return agent if agent in _agents() else None


def _agents() -> list[ExternalAgent]:
    return [agent for agent in AgentManager().agents.values() if isinstance(agent, ExternalAgent)]


def register_watch() -> None:
    """Hear of the end of turns; once per process."""
    manager = plugin_manager()
    if not manager.has_plugin(NAME):
        manager.register(Watch(), name=NAME)
