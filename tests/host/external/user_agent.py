"""Classes that users write for external agents, and what their hooks saw."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from a2a.types import Task
from rasa.agents.protocol.a2a.a2a_agent import A2AAgent
from rasa.agents.schemas import AgentInput, AgentOutput
from rasa.shared.agents.outbound_call_hook import A2AOutboundCallContext, OutboundCallResult
from rasa.shared.core.events import SlotSet

SEEN: dict[str, list[Any]] = defaultdict(list)


class Broker(A2AAgent):
    """Has every documented hook."""

    async def process_input(self, agent_input: AgentInput) -> AgentInput:
        """Share one slot, and say who we are."""
        SEEN["input"].append(dict(agent_input.metadata))
        agent_input.slots = [slot for slot in agent_input.slots if slot.name == "size"]
        agent_input.metadata["tenant_id"] = "premium"
        return agent_input

    async def process_agent_output(self, output: AgentOutput) -> AgentOutput:
        """Take the desk from the results."""
        SEEN["output"].append(output)
        for results in output.structured_results or []:
            for entry in results:
                if desk := entry.get("result", {}).get("desk"):
                    output.events = [*(output.events or []), SlotSet("desk", desk)]
        return output

    def get_structured_results_from_task(
        self, agent_input: AgentInput, task: Task
    ) -> list[list[dict[str, Any]]] | None:
        """Name the results."""
        results = super().get_structured_results_from_task(agent_input, task)
        for entries in results or []:
            for entry in entries:
                entry["name"] = "named"
        return results


class Router(A2AAgent):
    """Chooses context and task itself."""

    async def process_input(self, agent_input: AgentInput) -> AgentInput:
        """Set the context."""
        agent_input.metadata["context_id"] = "chosen"
        return agent_input


async def credentials(context: A2AOutboundCallContext) -> OutboundCallResult:
    """Gives a secret for one call."""
    SEEN["hook"].append(context)
    return OutboundCallResult(metadata={"x-secret": f"of {context.sender_id}"})


def broken_credentials(context: A2AOutboundCallContext) -> dict[str, Any]:
    """Fails."""
    raise ValueError("the vault is closed: hunter2")
