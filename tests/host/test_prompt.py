"""The prompt at the host: documented variables, older ones, dates, failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.project import Project
from tests.host.refused import log_of, logs
from tests.host.turn import agent_at_work, agent_input, slot, take_turn

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
YES = {"when": {"model": "agents"}, "answer": "Yes?"}


@pytest.fixture
def template(tmp_path: Path, project: Project) -> Callable[..., Project]:
    """Gives the project's agent a prompt template."""

    def write(text: str, **configuration: Any) -> Project:
        path = tmp_path / "clerk.jinja2"
        path.write_text(text, encoding="utf-8")
        return project.with_agent(prompt_template=str(path), **configuration)

    return write


async def prompt_of(project: Project, model: ModelServer, given: Any, **how: Any) -> str:
    """The system prompt of a turn."""
    async with agent_at_work(project, **how) as agent:
        await take_turn(agent, given)
    return str(model.messages()[0]["content"])


async def test_documented_variables_are_rendered(
    template: Callable[..., Project], script: Script
) -> None:
    project = template(
        "{{ description }}|{{ slots.size }}|{{ enable_filler_messages }}|"
        "{{ resumed_after_interruption }}|{{ resumed_last_request }}|{{ restarted }}"
    )
    given = agent_input(
        slots=[slot("size", "L")],
        resumed_after_interruption=True,
        agent_response="Which lamp?",
        restarted=True,
    )
    said = await prompt_of(project, script(YES), given)
    assert said == "Serves in the shop.|L|True|True|Which lamp?|True"


async def test_slot_names_of_a_task_are_rendered(
    template: Callable[..., Project], script: Script
) -> None:
    given = agent_input(slots=[slot("size"), slot("desk", "B")], exit_if=["slots.size is not null"])
    said = await prompt_of(template("Fill {{ slot_names }}"), script(YES), given, task=True)
    assert said == "Fill ['size']"


async def test_the_default_prompt_of_a_task_names_the_slots_to_fill(
    project: Project, script: Script
) -> None:
    exit_if = ["slots.size is not null", "slots.desk is not null"]
    desk = slot("desk", mappings=[{"type": "controlled"}])
    given = agent_input(slots=[slot("size"), desk], exit_if=exit_if)
    said = await prompt_of(project, script(YES), given, task=True)
    assert "set_slot_<slot name>`: size." in said


async def test_older_variables_are_honoured_and_the_history_is_not_doubled(
    template: Callable[..., Project], script: Script
) -> None:
    from rasa.shared.core.events import BotUttered, UserUttered

    model = script(YES)
    project = template("{{ recipient_id }}: {{ conversation_history }} / {{ user_message }}")
    given = agent_input(
        "a lamp",
        history="USER: hello\nAI: What is it?",
        events=[UserUttered("hello"), BotUttered("What is it?")],
    )
    said = await prompt_of(project, model, given)
    assert said == "anna: USER: hello\nAI: What is it? / a lamp"
    assert [(m["role"], m["content"]) for m in model.messages()[1:]] == [("user", "a lamp")]


async def test_without_older_variables_the_history_is_sent_as_messages(
    template: Callable[..., Project], script: Script
) -> None:
    from rasa.shared.core.events import BotUttered, UserUttered

    model = script(YES)
    events = [UserUttered("hello"), BotUttered("What is it?")]
    await prompt_of(template("Serve."), model, agent_input("a lamp", events=events))
    assert [(m["role"], m["content"]) for m in model.messages()] == [
        ("system", "Serve."),
        ("user", "hello"),
        ("assistant", "What is it?"),
        ("user", "a lamp"),
    ]


DATE = "{{ current_datetime.strftime('%d %B %Y %H:%M') }} {{ current_datetime.tzname() }}"


def mocked(value: str) -> Any:
    """The event by which an e2e fixture sets the date."""
    from rasa.shared.core.events import SlotSet

    return SlotSet("mocked_datetime", value)


async def test_the_date_of_an_e2e_fixture_is_shown_as_it_was_set(
    template: Callable[..., Project], script: Script
) -> None:
    given = agent_input(events=[mocked("2031-07-04T10:30:00+00:00")])
    said = await prompt_of(template(DATE, timezone="Europe/Berlin"), script(YES), given)
    assert said == "04 July 2031 10:30 UTC"


async def test_today_is_shown_in_the_agents_time_zone(
    template: Callable[..., Project], script: Script
) -> None:
    project = template("{{ current_datetime.tzname() }}", timezone="Asia/Tokyo")
    assert await prompt_of(project, script(YES), agent_input()) == "JST"


async def test_the_default_prompt_shows_the_date_unless_it_is_switched_off(
    project: Project, script: Script
) -> None:
    given = agent_input(events=[mocked("2031-07-04T10:30:00+00:00")])
    model = script(YES)
    assert "2031" in await prompt_of(project, model, given)
    off = project.with_agent(include_date_time=False)
    assert "2031" not in await prompt_of(off, model, given)


async def test_a_template_written_for_dates_survives_without_them(
    template: Callable[..., Project], script: Script
) -> None:
    project = template(f"Serve. {DATE}", include_date_time=False)
    assert (await prompt_of(project, script(YES), agent_input())).strip() == "Serve."


async def test_b103_a_template_that_fails_gives_way_to_the_default_and_is_told_once(
    template: Callable[..., Project], script: Script
) -> None:
    from rasa.shared.core.events import BotUttered, UserUttered

    model = script(YES)
    project = template("{{ conversation_history }} {{ 100 // slots.amount }}")
    given = agent_input(
        "a lamp",
        slots=[slot("amount", 0, "float")],
        events=[UserUttered("hello"), BotUttered("What is it?")],
    )
    with logs() as captured:
        async with agent_at_work(project) as agent:
            first = await take_turn(agent, given)
            second = await take_turn(agent, given)
    assert [output.status.value for output in (first, second)] == ["input_required"] * 2
    told = log_of(captured, "rasa_react_ext.prompt.not_rendered")
    assert told["log_level"] == "error"
    assert "clerk.jinja2" in told["event_info"]
    assert "division" in told["event_info"]
    assert "Serves in the shop." in model.messages()[0]["content"]
    # The failed template would have shown the history; the default one does not.
    assert [m["content"] for m in model.messages()[1:]] == ["hello", "What is it?", "a lamp"]
