"""Agents that projects write from the documentation do in this engine what it says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from rasa.core.channels import CollectingOutputChannel

from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import SIZE, results, said, slots
from tests.host.hostile import subclass
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, slot, take_turn

pytestmark = pytest.mark.host


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a turn: output, the model, what the tools did and what was shown."""

    output: Any
    model: ModelServer
    done: Counter[str]
    shown: list[str]

    def prompts(self) -> list[str]:
        """The system prompt of each request."""
        return [self.model.messages(i)[0]["content"] for i in range(self.model.request_count)]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


LOOK = call("look_up", item="lamp")


def member(came: Came) -> None:
    assert came.prompts()[0] == "Serves in the shop. The customer's tier is gold."


def ticker(came: Came) -> None:
    prices = [prompt.rpartition("\n")[2] for prompt in came.prompts()]
    assert prices == ["Price now: 40.", "Price now: 41.", "Price now: 42."]


def auditor(came: Came) -> None:
    looked, reserved = results(came.model)
    assert looked.startswith("[audited] ")
    assert "B4" in looked
    assert "Closed for stocktaking." in reserved
    assert came.done == {"look_up": 1}
    executed = [event.is_error for event in came.output.events if event.type_name != "bot"]
    assert executed == [False, True]


def secretive(came: Came) -> None:
    assert came.output.structured_results == [[{"name": "look_up", "result": "withheld"}]]
    assert "B4" in results(came.model)[0], "the model is told the result"


def rememberer(came: Came) -> None:
    assert came.prompts() == ["Desk: B. Seen: nothing.", "Desk: B. Seen: lamp."]


def booker(came: Came) -> None:
    assert came.output.status.value == "completed"
    assert slots(came.output) == [("size", "B4")]
    assert came.model.request_count == 1


def tailor(came: Came) -> None:
    tools = (came.model.requests[0].body or {})["tools"]
    tool = next(t["function"] for t in tools if t["function"]["name"] == "set_slot_size")
    assert tool["parameters"]["properties"]["slot_value"]["enum"] == ["S", "M", "L"]
    assert slots(came.output) == [("size", "L")]
    assert came.output.status.value == "completed"


def farewell(came: Came) -> None:
    tools = (came.model.requests[0].body or {})["tools"]
    described = {tool["function"]["name"]: tool["function"]["description"] for tool in tools}
    assert described["task_completed"] == "Call once when the customer is served."
    assert "Reply with one formal sentence." in json.dumps(came.model.messages())
    assert came.output.status.value == "completed"
    assert said(came.output) == [("Farewell, madam.", "final_response")]


def herald(came: Came) -> None:
    assert came.shown == ["Starting to work on your request...", "On B4."]
    assert [text for text, _ in said(came.output)] == came.shown


def historian(came: Came) -> None:
    texts = [message["content"] for message in came.model.messages(0)[1:]]
    assert texts == ["Is there a vase?", "There is, on A1.", "hello"]
    roles = [message["role"] for message in came.model.messages()]
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool"]


def counter(came: Came) -> None:
    assert results(came.model) == ["2 x lamp: account of anna"]
    assert slots(came.output) == [("desk", "till")]


def butler(came: Came) -> None:
    assert "reserve" not in came.model.tool_names(0)
    assert "look_up" in came.model.tool_names(0)
    assert "There is no tool 'reserve'" in results(came.model)[0]
    assert came.done == {}


AGENTS: dict[type, tuple[list[Any], Callable[[Came], None]]] = {
    subclass.Member: (["Yes?"], member),
    subclass.Ticker: ([LOOK, call("look_up", item="vase"), "On B4."], ticker),
    subclass.Auditor: (
        [{"calls": [*LOOK["calls"], *call("reserve", item="lamp")["calls"]]}, "On B4."],
        auditor,
    ),
    subclass.Secretive: ([LOOK, "On B4."], secretive),
    subclass.Rememberer: ([LOOK, "On B4."], rememberer),
    subclass.Booker: ([LOOK, "On B4."], booker),
    subclass.Tailor: (
        [call("set_slot_size", slot_value="L")],
        tailor,
    ),
    subclass.Farewell: ([call("task_completed"), "Farewell, madam."], farewell),
    subclass.Herald: ([LOOK, "On B4."], herald),
    subclass.Historian: ([LOOK, "On B4."], historian),
    subclass.Counter: ([call("charge", item="lamp", count=2), "Paid."], counter),
    subclass.Butler: ([call("reserve", item="lamp"), "I cannot."], butler),
}


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.__name__)
async def test_an_agent_written_from_the_documentation_does_what_it_says(
    project: Project, model: ModelServer, done: Counter[str], kind: type
) -> None:
    answers, check = AGENTS[kind]
    subclass.Ticker.prices = iter(range(40, 50))
    model.use([{"answers": [*answers, "What else?"]}])
    task = issubclass(kind, subclass.MCPTaskAgent)
    metadata: dict[str, Any] = {"points": 200, **({"exit_if": SIZE} if task else {})}
    given = agent_input(slots=[slot("size"), slot("desk", "B")], **metadata)
    channel = CollectingOutputChannel()
    module = f"{kind.__module__}.{kind.__name__}"
    async with agent_at_work(project.with_agent(module=module), task=task) as agent:
        output = await take_turn(agent, given, output_channel=channel)
    assert output.status.value in ("input_required", "completed"), output.error_message
    assert agent.__class__.__name__ == kind.__name__
    assert {event.metadata.get("utter_source") for event in output.events} <= {kind.__name__, None}
    shown = [message["text"] for message in channel.messages]
    check(Came(output=output, model=model, done=done, shown=shown))
