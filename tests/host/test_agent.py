"""What an agent of ours does with the host's input, settings and a user's hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host import user_agent
from tests.host.project import Project, loaded
from tests.host.turn import agent_at_work, agent_input, slot, take_turn

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
LOOK = {"calls": [{"name": "look_up", "arguments": {"item": "lamp {{ step }}"}}]}
SIZE = ["slots.size is not null"]
SET_SIZE = {"calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}]}


@pytest.fixture(autouse=True)
def notes() -> None:
    """Hooks note what they see anew in each test."""
    user_agent.called.clear()
    user_agent.seen.clear()


async def test_without_llm_the_documented_default_model_is_asked(
    project: Project, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
    monkeypatch.setenv("OPENAI_API_BASE", model.base_url)
    model.use([{"when": {"model": "/^gpt-5.1/"}, "answer": "Yes?"}])
    config = dict(project.agents["clerk"])
    config["configuration"] = {"timezone": "UTC"}
    async with agent_at_work(project.having(agents={"clerk": config})) as agent:
        output = await take_turn(agent, agent_input())
    assert output.response_message == "Yes?"
    assert (model.last.body or {})["model"].startswith("gpt-5.1")


async def test_d3_4_exit_slots_that_process_input_removed_keep_their_tool_and_condition(
    project: Project, script: Script
) -> None:
    model = script({"when": {"tools": ["set_slot_size"]}, "answer": SET_SIZE})
    forgetful = project.with_agent(module="tests.host.user_agent.Forgetful")
    async with agent_at_work(forgetful, task=True) as agent:
        output = await take_turn(agent, agent_input(slots=[slot("size")], exit_if=SIZE))
    assert model.request_count == 1
    assert output.status.value == "completed"
    assert [(event.key, event.value) for event in output.events] == [("size", "L")]


async def test_d3_7_memory_is_not_seen_by_hooks_tools_and_prompts(
    project: Project, script: Script
) -> None:
    model = script(
        {
            "when": {"last": "user", "tools": ["wrap"]},
            "answer": {"calls": [{"name": "wrap", "arguments": {"word": "lamp"}}]},
        },
        {"when": {"tool": "wrap"}, "answer": "Wrapped."},
    )
    async with agent_at_work(project.with_agent(module="tests.host.user_agent.Clerk")) as agent:
        first = await take_turn(agent, agent_input("wrap a lamp"))
        again = agent_input("and another", events=first.events, **first.metadata)
        second = await take_turn(agent, again)
    assert "rasa_react_ext" in first.metadata
    assert "rasa_react_ext" in second.metadata
    assert len(user_agent.seen) == 4
    assert all("rasa_react_ext" not in metadata for metadata in user_agent.seen)
    remembered = [m for m in model.messages() if m["role"] == "tool"]
    assert [m["content"] for m in remembered] == ["wrapped lamp"] * 2


async def test_d3_7_an_equal_call_in_a_later_turn_runs_again_when_the_first_was_saved(
    project: Project, script: Script, done: Counter[str]
) -> None:
    script(
        {
            "when": {"last": "user", "tools": ["reserve"]},
            "answer": {"calls": [{"name": "reserve", "arguments": {"item": "lamp"}}]},
        },
        {"when": {"tool": "reserve"}, "answer": "Another?"},
    )
    async with loaded(project) as agent:
        await agent.handle_text("start shop", sender_id="anna")
        await agent.handle_text("yes, another", sender_id="anna")
    assert done["reserve"] == 2


async def test_d3_7_an_equal_call_of_a_turn_that_was_never_saved_is_not_repeated_blindly(
    project: Project, script: Script, done: Counter[str]
) -> None:
    model = script(
        {
            "when": {"last": "user", "tools": ["reserve"]},
            "answer": {"calls": [{"name": "reserve", "arguments": {"item": "lamp"}}]},
        },
        {"when": {"tool": "reserve"}, "answer": "Another?"},
    )
    async with agent_at_work(project) as agent:
        said = agent_input("a lamp")
        await take_turn(agent, said)
        await take_turn(agent, said)
    assert done["reserve"] == 1
    assert "outcome is unknown" in model.messages()[-1]["content"]


async def test_d3_7_memory_can_be_switched_off(project: Project, script: Script) -> None:
    model = script(
        {"when": {"last": "user"}, "answer": LOOK}, {"when": {"tool": "look_up"}, "answer": "B4."}
    )
    async with agent_at_work(project, settings={"agents": {"clerk": {"memory": "off"}}}) as agent:
        first = await take_turn(agent, agent_input("a lamp"))
        await take_turn(agent, agent_input("and?", **(first.metadata or {})))
    assert not first.metadata
    assert [m["role"] for m in model.messages(2)] == ["system", "user"]


async def test_d3_3_slots_wiped_on_a_restarted_run_are_restored_in_later_turns(
    project: Project, script: Script
) -> None:
    both = ["slots.size is not null", "slots.amount > 0"]
    model = script(
        {"when": {"user": "large", "step": 1}, "answer": SET_SIZE},
        {
            "when": {"user": "twelve", "step": 1},
            "answer": {"calls": [{"name": "set_slot_amount", "arguments": {"slot_value": 12}}]},
        },
        {"when": {"tools": ["set_slot_size"]}, "answer": "And how many?"},
    )

    def wiped() -> list[Any]:
        return [slot("size"), slot("amount", type="float")]

    async with agent_at_work(project, task=True) as agent:
        first = await take_turn(
            agent, agent_input("large", slots=wiped(), exit_if=both, restarted=True)
        )
        second = await take_turn(
            agent,
            agent_input("twelve", slots=wiped(), exit_if=both, restarted=True, **first.metadata),
        )
    assert _slots(first) == [("size", "L")]
    assert _slots(second) == [("size", "L"), ("amount", 12.0)]
    assert second.status.value == "completed"
    assert model.request_count == 3


async def test_d3_3_a_restarted_run_restores_nothing_in_its_first_turn(
    project: Project, script: Script
) -> None:
    script({"when": {"tools": ["set_slot_size"]}, "answer": "Which size?"})
    given = agent_input(slots=[slot("size")], exit_if=SIZE, restarted=True)
    async with agent_at_work(project, task=True) as agent:
        output = await take_turn(agent, given)
    assert _slots(output) == []


async def test_d3_3_a_restarted_task_is_finished_over_two_turns_in_the_host(
    project: Project, script: Script
) -> None:
    script(
        {"when": {"user": "large", "step": 1}, "answer": SET_SIZE},
        {
            "when": {"user": "twelve", "step": 1},
            "answer": {"calls": [{"name": "set_slot_amount", "arguments": {"slot_value": 12}}]},
        },
        {"when": {"tools": ["set_slot_size"]}, "answer": "And the rest?"},
    )
    async with loaded(project) as agent:
        for _ in range(2):
            for text in ("start order_form", "large", "twelve"):
                said = await agent.handle_text(text, sender_id="anna")
            assert said[0]["text"] == "Filled: L, 12.0."


async def test_d3_1_max_iterations_of_a_users_class_is_respected(
    project: Project, script: Script, done: Counter[str]
) -> None:
    model = script(
        {"when": {"tools": ["look_up"], "tool_choice": "none"}, "answer": "So far."},
        {"when": {"tools": ["look_up"]}, "answer": LOOK},
    )
    patient = project.with_agent(module="tests.host.user_agent.Patient")
    async with agent_at_work(patient) as agent:
        output = await take_turn(agent, agent_input())
    assert model.request_count == 4
    assert output.status.value == "input_required"
    assert done["look_up"] == 3


async def test_d3_1_max_steps_wins_over_the_class(project: Project, script: Script) -> None:
    model = script(
        {"when": {"tool_choice": "none"}, "answer": "So far."},
        {"when": {"tools": ["look_up"]}, "answer": LOOK},
    )
    patient = project.with_agent(module="tests.host.user_agent.Patient")
    async with agent_at_work(patient, settings={"max_steps": 2}) as agent:
        await take_turn(agent, agent_input())
    assert model.request_count == 3


async def test_python_tools_of_every_form_run_beside_the_servers(
    project: Project, script: Script
) -> None:
    calls = [{"name": name, "arguments": {"word": "lamp"}} for name in ("wrap", "sign", "weigh")]
    model = script(
        {"when": {"last": "user"}, "answer": {"calls": calls}},
        {"when": {"last": "tool"}, "answer": "Done."},
    )
    async with agent_at_work(project.with_agent(module="tests.host.user_agent.Clerk")) as agent:
        output = await take_turn(agent, agent_input(customer="gold"))
    results = [m["content"] for m in model.messages() if m["role"] == "tool"]
    assert results == ["wrapped lamp", "signed lamp", "weighed lamp"]
    tools = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert [tool.tool_name for tool in tools] == ["wrap", "sign", "weigh"]
    # The second entry is what the tool was given: the input's metadata.
    assert user_agent.seen[1]["customer"] == "gold"


async def test_exit_conditions_that_hold_already_end_the_run_without_asking_the_model(
    project: Project, script: Script
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "?"})
    given = agent_input(slots=[slot("size", "M")], exit_if=SIZE)
    async with agent_at_work(project, task=True) as agent:
        output = await take_turn(agent, given)
    assert output.status.value == "completed"
    assert model.request_count == 0


def _slots(output: Any) -> list[tuple[str, Any]]:
    return [(event.key, event.value) for event in output.events if event.type_name == "slot"]
