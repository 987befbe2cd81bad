"""The host's agent as the assistant behind the A2A server.

The agent is looked up for each turn, so a model loaded meanwhile answers the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from rasa.core.agent import Agent
from rasa.core.channels.channel import UserMessage
from rasa.core.constants import A2A_CLIENT_SLOT_COMMANDS_METADATA_KEY
from rasa.core.processor import MessageProcessor
from rasa.dialogue_understanding.commands.cancel_flow_command import CancelFlowCommand
from rasa.shared.core.events import Event, UserUttered
from rasa.shared.core.flows import FlowsList
from rasa.shared.core.trackers import DialogueStateTracker

from rasa_react_ext.a2a_server import Output, Profile, Result, Skill, Turn
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.errors import HostError
from rasa_react_ext.host.a2a.outcome import outcome_of
from rasa_react_ext.host.a2a.slot import completed_slots, open_slots, seed_commands
from rasa_react_ext.host.a2a.turn_channel import CHANNEL_NAME, TurnChannel

__all__ = ["HostAssistant", "Silence"]

SEPARATOR = "\n\n"
OWN_KEYS = ("slots", A2A_CLIENT_SLOT_COMMANDS_METADATA_KEY)
"""Keys of a message's metadata that do not reach the dialogue: we set them ourselves."""


class HostAssistant:
    """Answers turns with the agent that the host has loaded."""

    def __init__(
        self,
        agent: Callable[[], Agent | None],
        *,
        repair: bool,
        controlled_slots: Collection[str],
    ) -> None:
        """Name the agent.

        Args:
            agent: Gives the loaded agent.
            repair: Whether repair patterns are advertised and speak to the user.
            controlled_slots: Controlled slots that callers may bring and see.
        """
        self._agent = agent
        self._repair = repair
        self._controlled = controlled_slots
        self._profile: tuple[MessageProcessor, Profile] | None = None

    async def profile(self) -> Profile:
        """Name, version and flows of the loaded model.

        Raises:
            HostError: No model is loaded.
        """
        _, processor = self._loaded()
        if self._profile is None or self._profile[0] is not processor:
            flows = await processor.get_flows()
            metadata = processor.model_metadata
            profile = Profile(
                name=metadata.assistant_id or "Rasa Agent",
                version=_version(processor),
                skills=_skills(flows, repair=self._repair),
            )
            self._profile = processor, profile
        return self._profile[1]

    async def run(self, turn: Turn, output: Output) -> Result:
        """Answer a message.

        Raises:
            HostError: No model is loaded.
        """
        agent, processor = self._loaded()
        channel = TurnChannel(output, streaming=turn.streaming, repair=self._repair)
        began = time.time()
        await agent.handle_message(
            UserMessage(
                text=turn.text,
                output_channel=channel,
                sender_id=turn.conversation,
                input_channel=CHANNEL_NAME,
                message_id=f"{turn.task_id}/{turn.message_id}",
                metadata=self._metadata(turn, agent),
            )
        )
        return await self._result(channel, processor, began)

    def interrupt(self, conversation: str) -> None:
        """Set the host's cancellation token of a conversation."""
        agent = self._agent()
        if agent is not None and agent.processor is not None:
            agent.processor.cancel_background_tasks(conversation)

    async def leave(self, turn: Turn) -> Result:
        """Cancel the user's flow as if the user had asked for it.

        Raises:
            HostError: No model is loaded.
        """
        agent, processor = self._loaded()
        flows = await processor.get_flows()
        channel = TurnChannel(Silence(), streaming=False, repair=self._repair)
        began = time.time()
        async with agent.lock_store.lock(turn.conversation):
            tracker = await processor.get_tracker(turn.conversation)
            events = CancelFlowCommand().run_command_on_tracker(tracker, flows, tracker.copy())
            if not events:
                return Result(state=State.CANCELED)
            for event in events:
                tracker.update(event)
            channel.attach_tracker_state(tracker)
            await processor.run_prediction_loop(channel, tracker)
            await processor.save_tracker(tracker)
        outcome = outcome_of(tracker, _since(tracker, began), repair=self._repair)
        facts = outcome.facts if outcome.state is State.CANCELED else {}
        return Result(state=State.CANCELED, text=SEPARATOR.join(channel.texts), data=facts)

    async def result_of(self, channel: TurnChannel, began: float) -> Result:
        """How a turn that was not a message's left its dialogue.

        Args:
            channel: What was said in it.
            began: When it began.

        Raises:
            HostError: No model is loaded.
        """
        _, processor = self._loaded()
        return await self._result(channel, processor, began)

    def _loaded(self) -> tuple[Agent, MessageProcessor]:
        agent = self._agent()
        if agent is None or agent.processor is None or not agent.is_ready():
            raise HostError("No model is loaded.")
        return agent, agent.processor

    def _metadata(self, turn: Turn, agent: Agent) -> dict[str, Any]:
        metadata = {key: value for key, value in turn.metadata.items() if key not in OWN_KEYS}
        metadata["a2a"] = {
            "caller": turn.caller,
            "context_id": turn.context_id,
            "task_id": turn.task_id,
            "message_id": turn.message_id,
        }
        commands = seed_commands(turn.slots, agent.domain, self._controlled) if agent.domain else []
        if commands:
            metadata[A2A_CLIENT_SLOT_COMMANDS_METADATA_KEY] = commands
        return metadata

    async def _result(
        self, channel: TurnChannel, processor: MessageProcessor, began: float
    ) -> Result:
        tracker = channel.tracker
        if tracker is None:
            return Result(state=State.FAILED, data={"error_type": "turn_incomplete"})
        outcome = outcome_of(tracker, _since(tracker, began), repair=self._repair)
        flows = await processor.get_flows()
        facts = dict(outcome.facts)
        if outcome.state is State.INPUT_REQUIRED:
            facts |= open_slots(tracker, flows, self._controlled)
        elif outcome.state is State.COMPLETED:
            flow = flows.flow_by_id(outcome.flow_id) if outcome.flow_id else None
            facts |= completed_slots(tracker, flow, self._controlled)
        if channel.repairs:
            facts["conversation_repair_agent_utterances"] = channel.repairs
        return Result(
            state=outcome.state,
            text=SEPARATOR.join(channel.texts),
            data={**facts, **channel.extras},
        )


class Silence:
    """An output for turns of which only the end is told."""

    async def say(self, text: str, *, data: Any = None, artifact_id: str = "") -> None:
        """Say nothing."""

    async def piece(self, artifact_id: str, text: str, *, first: bool, last: bool) -> None:
        """Say nothing."""


def _since(tracker: DialogueStateTracker, began: float) -> list[Event]:
    """The events of this turn, which the host stamps as it makes them."""
    events: list[Event] = []
    for event in reversed(tracker.events):
        if event.timestamp < began:
            break
        events.append(event)
        if isinstance(event, UserUttered):
            break
    return list(reversed(events))


def _version(processor: MessageProcessor) -> str:
    return str(processor.model_filename).removesuffix(".tar.gz")


def _skills(flows: FlowsList, *, repair: bool) -> list[Skill]:
    shown = list(flows.user_flows.exclude_link_only_flows())
    if repair:
        shown += [flow for flow in flows if flow.is_rasa_default_flow]
    return [
        Skill(
            id=flow.id,
            name=flow.readable_name(),
            description=flow.description or flow.readable_name(),
        )
        for flow in sorted(shown, key=lambda flow: flow.id)
    ]
