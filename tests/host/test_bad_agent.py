"""A sub agent's config.yml that cannot work, or only in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.host.project import Project, loaded
from tests.host.refused import log_of, logs, refused
from tests.host.turn import agent_at_work

pytestmark = pytest.mark.host

CLERK = "sub_agents: clerk: config.yml"
STORE = "connections: mcp_servers: store"


async def refuses(project: Project, *, file: str, key: str, says: str) -> None:
    """The project's agents cannot be built."""
    with refused(file=file, key=key, says=says):
        async with agent_at_work(project):
            pass


async def test_a_server_that_endpoints_yml_lacks_is_refused(project: Project) -> None:
    await refuses(
        project.with_agent(servers=["warehouse"]),
        file=CLERK,
        key="connections: mcp_servers: warehouse",
        says="with name 'warehouse', url and type",
    )


@pytest.mark.parametrize("url", ["localhost:80/mcp", "htp://localhost/mcp"])
async def test_an_address_that_is_none_is_refused(project: Project, url: str) -> None:
    await refuses(
        project.having(servers={"store": url}),
        file="endpoints.yml",
        key="mcp_servers: store: url",
        says="Write an address such as",
    )


async def test_a_prompt_template_that_is_not_there_is_refused(project: Project) -> None:
    await refuses(
        project.with_agent(prompt_template="prompts/clerk.jinja2"),
        file=CLERK,
        key="configuration: prompt_template",
        says="no file 'prompts/clerk.jinja2'",
    )


async def test_a_syntax_error_in_a_prompt_template_is_refused_with_its_line(
    project: Project, tmp_path: Path
) -> None:
    template = tmp_path / "clerk.jinja2"
    template.write_text("You are a clerk.\n{% if slots.size %}\nNo end.\n", encoding="utf-8")
    await refuses(
        project.with_agent(prompt_template=str(template)),
        file=str(template),
        key="line 2",
        says="Correct the Jinja2 syntax there.",
    )


async def test_include_and_exclude_at_once_are_refused(project: Project) -> None:
    both = {"name": "store", "include_tools": ["look_up"], "exclude_tools": ["fail"]}
    await refuses(
        project.with_agent(servers=[both]),
        file=CLERK,
        key=STORE,
        says="Keep one of the two.",
    )


@pytest.mark.parametrize("timeout", [0, -5])
async def test_d3_1_a_timeout_of_zero_or_less_is_refused(project: Project, timeout: int) -> None:
    await refuses(
        project.with_agent(timeout=timeout),
        file=CLERK,
        key="configuration: timeout",
        says="Write seconds above 0",
    )


async def test_a_negative_number_of_retries_is_refused(project: Project) -> None:
    await refuses(
        project.with_agent(max_retries=-1),
        file=CLERK,
        key="configuration: max_retries",
        says="Write 0 for a single try",
    )


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("tests.host.user_agent.Nobody", "cannot be imported"),
        ("no_such_package.Clerk", "cannot be imported"),
        ("tests.host.user_agent.Plain", "Extend MCPOpenAgent or MCPTaskAgent."),
    ],
)
async def test_a_class_that_is_no_agent_is_refused(
    project: Project, module: str, says: str
) -> None:
    await refuses(
        project.with_agent(module=module), file=CLERK, key="configuration: module", says=says
    )


async def test_d6_an_invalid_time_zone_raises_the_hosts_validation_error(project: Project) -> None:
    from rasa.exceptions import ValidationError

    with pytest.raises(ValidationError, match="Mars/Base") as caught:
        async with loaded(project.with_agent(timezone="Mars/Base")):
            pass
    assert caught.value.code.endswith("invalid_timezone")


async def test_an_agent_without_any_server_is_allowed_with_a_warning(project: Project) -> None:
    agent = project.with_agent(servers=[], module="tests.host.user_agent.Clerk")
    with logs() as captured:
        async with agent_at_work(agent) as clerk:
            names = [tool.name for tool in clerk.python_tools]
    assert names == ["wrap", "sign", "weigh"]
    warning = log_of(captured, "rasa_react_ext.agent.no_mcp_server")
    assert warning["log_level"] == "warning"
    assert f"{CLERK}: connections: mcp_servers is empty" in warning["event_info"]


@pytest.mark.parametrize(("key", "value"), [("timeout", 300), ("tool_timeout", 90.5)])
async def test_d3_1_a_time_above_the_locks_lifetime_is_clamped_with_a_warning(
    project: Project, key: str, value: Any
) -> None:
    from rasa.core.lock_store import LOCK_LIFETIME

    with logs() as captured:
        async with agent_at_work(project.with_agent(**{key: value})):
            pass
    warning = log_of(captured, "rasa_react_ext.agent.timeout_clamped")
    assert f"configuration: {key} is {value:g} s" in warning["event_info"]
    assert f"ends {LOCK_LIFETIME - 10:g} s after" in warning["event_info"]
    assert f"TICKET_LOCK_LIFETIME is {LOCK_LIFETIME} s" in warning["event_info"]


async def test_unknown_and_older_variables_of_a_template_are_named_once(
    project: Project, tmp_path: Path
) -> None:
    template = tmp_path / "clerk.jinja2"
    template.write_text("{{ user_message }} {{ customer_mood }}", encoding="utf-8")
    with logs() as captured:
        async with agent_at_work(project.with_agent(prompt_template=str(template))):
            pass
    unknown = log_of(captured, "rasa_react_ext.prompt.unknown_variable")
    assert unknown["variables"] == ["customer_mood"]
    assert str(template) in unknown["event_info"]
    older = log_of(captured, "rasa_react_ext.prompt.older_variable")
    assert older["variables"] == ["user_message"]
