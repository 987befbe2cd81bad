"""`get_custom_tool_definitions` and its executors, in every form projects write them."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolContext, AgentToolResult
from rasa.shared.core.events import SlotSet

from tests.host.hooks.play import AtWork, Script, calling, python_tool, results, slots, then
from tests.host.refused import logs
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

TEXT = {"type": "string"}
MEETING_SECONDS = 10.0
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


class Cars(MCPOpenAgent):
    """The documentation's example."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": "recommend_cars",
                    "description": "Analyze search results and recommend cars",
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "search_results": {"type": "string"},
                            "max_recommendations": {"type": "integer", "default": 3},
                        },
                        "required": ["search_results", "max_recommendations"],
                        "additionalProperties": False,
                    },
                    "strict": True,
                },
                "tool_executor": self.recommend_cars,
            }
        ]

    async def recommend_cars(
        self, arguments: dict[str, Any], context: AgentToolContext
    ) -> AgentToolResult:
        seen.append((arguments, dict(context.metadata)))
        return AgentToolResult(tool_name="recommend_cars", result='{"recommendations": []}')


class Forms(MCPOpenAgent):
    """Executors with one and two arguments, synchronous and not, inside the class and outside."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        executors = {
            "coroutine": self._coroutine,
            "function": self._function,
            "old_coroutine": _old_coroutine,
            "old_function": lambda arguments: _result("old_function", arguments["word"]),
            "many": lambda *given: _result("many", str(len(given))),
            "promise": partial(self._later),
            "callable": _Callable(),
        }
        return [python_tool(name, run, word=TEXT) for name, run in executors.items()]

    async def _coroutine(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        return _result("coroutine", arguments["word"])

    def _later(self, arguments: dict[str, Any], context: Any) -> Any:
        return self._coroutine(arguments, context)

    def _function(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        return _result("function", arguments["word"])


class _Callable:
    async def __call__(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        return _result("callable", arguments["word"])


async def _old_coroutine(arguments: dict[str, Any]) -> AgentToolResult:
    return _result("old_coroutine", arguments["word"])


def _result(tool: str, text: str | None) -> AgentToolResult:
    return AgentToolResult(tool_name=tool, result=text)


class Blocking(MCPOpenAgent):
    """Its tools block their thread until both have come and the event loop has turned."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        both = threading.Barrier(2)
        loop_turned = threading.Event()

        def meet(arguments: dict[str, Any], context: Any) -> AgentToolResult:
            both.wait(MEETING_SECONDS)
            loop.call_soon_threadsafe(loop_turned.set)
            assert loop_turned.wait(MEETING_SECONDS)
            return _result("meet", str(threading.current_thread() is threading.main_thread()))

        loop = asyncio.get_running_loop()
        return [python_tool("meet_a", meet), python_tool("meet_b", meet)]


class Wrong(MCPOpenAgent):
    """Its tools do not return what they must."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [
            python_tool("text", lambda arguments, context: "a string"),
            python_tool("nothing", lambda arguments, context: None),
            python_tool("triple", lambda arguments, context: (1, 2, 3)),
            python_tool("good", lambda arguments, context: _result("good", "fine")),
        ]


class Failing(MCPOpenAgent):
    """Its tools fail, each in its own way."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [
            python_tool("raises", self._raises),
            python_tool("reports", self._reports),
            python_tool("empty", lambda arguments, context: _result("empty", None)),
        ]

    async def _raises(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        raise KeyError("shelf")

    def _reports(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        return AgentToolResult(tool_name="reports", is_error=True, error_message="sold out")


class Events(MCPOpenAgent):
    """Its tools return events beside their results."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [
            python_tool("host", lambda a, c: (_result("host", "one"), [SlotSet("desk", "four")])),
            python_tool("sdk", lambda a, c: (_result("sdk", "two"), [sdk_slot("size", "L")])),
            python_tool("single", lambda a, c: (_result("single", "3"), SlotSet("amount", 3.0))),
            python_tool("junk", lambda a, c: (_result("junk", "4"), ["text", {"event": "none"}])),
        ]


def sdk_slot(name: str, value: Any) -> dict[str, Any]:
    """What `rasa_sdk.events.SlotSet` returns."""
    return {"event": "slot", "timestamp": None, "name": name, "value": value}


class Undefined(MCPOpenAgent):
    """Its definitions cannot be had."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        raise OSError("tools.yml is missing")


async def test_get_custom_tool_definitions_of_the_documentation_offers_and_runs_its_tool(
    at_work: AtWork, script: Script
) -> None:
    model = script(
        calling("recommend_cars", search_results="red ones", max_recommendations="2"), then()
    )
    async with at_work(Cars) as agent:
        await take_turn(agent, agent_input(customer="gold"))
    offered = {tool["function"]["name"]: tool for tool in (model.last.body or {})["tools"]}
    assert offered["recommend_cars"]["function"]["strict"] is True
    (arguments, metadata) = seen[0]
    assert arguments == {"search_results": "red ones", "max_recommendations": 2}
    assert metadata["customer"] == "gold"
    assert results(model) == ['{"recommendations": []}']


async def test_get_custom_tool_definitions_that_raises_keeps_the_assistant_from_starting(
    at_work: AtWork,
) -> None:
    with pytest.raises(OSError, match=r"tools\.yml"):
        async with at_work(Undefined):
            pass


async def test_tool_executor_may_be_of_any_form(at_work: AtWork, script: Script) -> None:
    names = (
        "coroutine",
        "function",
        "old_coroutine",
        "old_function",
        "many",
        "promise",
        "callable",
    )
    model = script(calling(*names, word="lamp"), then())
    async with at_work(Forms) as agent:
        output = await take_turn(agent, agent_input())
    assert results(model) == ["lamp", "lamp", "lamp", "lamp", "2", "lamp", "lamp"]
    executed = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert [event.tool_name for event in executed] == list(names)


async def test_tool_executor_that_is_synchronous_runs_in_a_thread_beside_the_loop(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("meet_a", "meet_b"), then())
    async with at_work(Blocking, tool_timeout=MEETING_SECONDS) as agent:
        await take_turn(agent, agent_input())
    assert results(model) == ["False", "False"]


async def test_tool_executor_that_returns_a_wrong_type_is_reported_to_model_and_developer(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("text", "nothing", "triple", "good"), then("Repaired."))
    async with at_work(Wrong) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input())
    told = results(model)
    for heard, kind in zip(told, ("str", "NoneType", "tuple"), strict=False):
        assert f"returned {kind} instead of AgentToolResult" in heard
    assert told[3] == "fine"
    reported = [e["tool_name"] for e in log if e["event"].endswith("python_tool.failed")]
    assert sorted(reported) == ["nothing", "text", "triple"]
    assert output.response_message == "Repaired."


async def test_tool_executor_that_raises_or_reports_an_error_is_the_models_to_repair(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("raises", "reports", "empty"), then("Sorry."))
    async with at_work(Failing) as agent:
        output = await take_turn(agent, agent_input())
    raised, reported, empty = results(model)
    assert "KeyError" in raised
    assert "shelf" in raised
    assert reported == "sold out"
    assert empty
    executed = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert [event.is_error for event in executed] == [True, True, False]
    assert output.status.value == "input_required"


async def test_tool_executor_may_return_events_beside_its_result(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("host", "single"), then())
    given = agent_input(slots=[slot("desk"), slot("amount", type="float")])
    async with at_work(Events) as agent:
        output = await take_turn(agent, given)
    assert results(model) == ["one", "3"]
    assert slots(output) == [("desk", "four"), ("amount", 3.0)]


async def test_rasa_sdk_event_dicts_are_read_and_what_is_no_event_is_left_out(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("sdk", "junk"), then())
    async with at_work(Events) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input(slots=[slot("size")]))
    assert results(model) == ["two", "4"]
    assert slots(output) == [("size", "L")]
    dropped = [e["event_type"] for e in log if e["event"] == "rasa_react_ext.hook.event_dropped"]
    assert dropped == ["str", "dict"]
