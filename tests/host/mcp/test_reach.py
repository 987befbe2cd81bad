"""MCP servers that the host's own list cannot describe: other transports, headers, limits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rasa.agents.validation import validate_agent_folder

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.server import server_spec
from rasa_react_ext.host.settings import McpServerSettings, read_settings
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, then
from tests.host.project import Project, agent_config, loaded
from tests.host.refused import logs, refused
from tests.mcp_pool import stdio_server
from tests.mcp_pool.mcp_server import Asgi, Receive, Scope, Send, Served, serving, shop

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
SECRET = "sesame-7731"
PLACEHOLDER = "http://nowhere.invalid/mcp"


def reached(project: Project, name: str = "far", url: str = PLACEHOLDER, **way: Any) -> Project:
    """The project whose clerk has only this server, reached as `way` says."""
    return project.having(
        servers={name: url},
        agents={"clerk": agent_config(servers=[name])},
        section={"mcp_servers": {name: {"connect_timeout_seconds": 30, **way}}},
    )


def child(project: Project, **way: Any) -> Project:
    """The same with a server that is a child process."""
    program = [sys.executable, str(stdio_server.__file__)]
    return reached(project, transport="stdio", command=program[0], args=program[1:], **way)


@pytest.fixture
def older(done: Counter[str]) -> Iterator[Served]:
    """A shop over HTTP with server-sent events."""
    with serving(lambda: shop(done).sse_app(), "/sse") as served:
        yield served


async def test_d4_an_agent_has_the_tools_of_a_child_process_that_the_host_knows_as_http(
    project: Project, script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHILD_SECRET", SECRET)
    model = script(calling("variable", name="api_key"), then("It is set."))
    ours = child(project, env={"api_key": "${CHILD_SECRET}"}, cwd=str(tmp_path))
    ours.open()
    validate_agent_folder(str(ours.folder / "sub_agents"))
    async with loaded(ours) as agent:
        said = await agent.handle_text("start shop", sender_id="anna")
    assert [message["text"] for message in said] == ["It is set."]
    assert results(model) == [SECRET]


async def test_d4_an_agent_has_the_tools_of_a_server_with_server_sent_events(
    project: Project, script: Script, older: Served
) -> None:
    model = script(calling("order", item="日本"), then("Heard."))
    async with loaded(reached(project, transport="sse", url=older.url)) as agent:
        said = await agent.handle_text("start shop", sender_id="anna")
    assert [message["text"] for message in said] == ["Heard."]
    assert results(model) == ["ordered 日本"]


async def test_d4_headers_of_a_server_reach_it_and_no_log(
    project: Project, script: Script, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADER_SECRET", SECRET)
    seen: list[str] = []

    def guarded() -> Asgi:
        inner = shop(done).streamable_http_app()

        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                seen.append(dict(scope["headers"]).get(b"x-key", b"").decode())
            await inner(scope, receive, send)

        return guard

    model = script(calling("order", item="lamp"), then("Heard."))
    with serving(guarded) as served, logs() as captured:
        ours = reached(project, url=served.url, headers={"X-Key": "${HEADER_SECRET}"})
        async with loaded(ours) as agent:
            await agent.handle_text("start shop", sender_id="anna")
    assert results(model) == ["ordered lamp"]
    assert set(seen) == {SECRET}
    assert SECRET not in repr(captured)


async def test_d4_a_server_that_the_hosts_list_lacks_is_refused_with_the_nearest_name(
    project: Project,
) -> None:
    away = project.having(section={"mcp_servers": {"stor": {"transport": "sse"}}})
    with refused(file="endpoints.yml", key="mcp_servers: stor", says="Did you mean 'store'?"):
        async with loaded(away):
            pass


DIRECT = """
flows:
  shop:
    description: The customer wants to look for something in the shop.
    steps:
      - call: clerk
      - action: utter_bye
  booking:
    description: The customer wants to know a process id.
    steps:
      - call: pid
        mcp_server: far
        mapping:
          input: []
          output: [{slot: size, value: result.content}]
      - action: utter_bye
"""


async def test_d4_a_flow_that_calls_a_tool_of_a_child_process_itself_is_refused(
    project: Project,
) -> None:
    with refused(file="flow 'booking'", key="mcp_server", says="not over stdio"):
        async with loaded(child(project).having(flows=DIRECT)):
            pass


@pytest.mark.parametrize(
    ("way", "key", "says"),
    [
        ({"transports": "sse"}, "far: transports", "Did you mean 'transport'?"),
        ({"transport": "pigeon"}, "far: transport", "one of http, sse, stdio"),
        ({"transport": "stdio"}, "mcp_servers: far", "needs a command"),
        ({"command": "npx"}, "mcp_servers: far", "command: a server with transport 'http'"),
        (
            {"transport": "stdio", "command": "npx", "headers": {"X-Key": SECRET}},
            "mcp_servers: far",
            "headers: a server with transport 'stdio'",
        ),
        ({"client_key_file": "k.pem"}, "mcp_servers: far", "needs client_cert_file"),
        ({"connect_timeout_seconds": 0}, "far: connect_timeout_seconds", "above 0"),
        ({"headers": {"X-Key": [SECRET]}}, "far: headers: X-Key", "must be a text"),
    ],
)
def test_d6_a_wrong_way_to_a_server_is_refused_with_key_and_fix(
    way: Mapping[str, Any], key: str, says: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_settings({}, {"mcp_servers": {"far": way}})
    error = caught.value
    assert key in error.key
    assert says in f"{error.problem} {error.fix}"
    assert SECRET not in f"{error} {error.__cause__}"


def entry(**params: Any) -> Any:
    """The host's entry of a server, as an agent has it."""
    from rasa.core.available_agents import AgentMCPServerConfig

    return AgentMCPServerConfig(name="far", url=PLACEHOLDER, type="http", additional_params=params)


@pytest.mark.parametrize("key", ["ca_file", "client_cert_file"])
def test_d4_a_certificate_that_is_not_there_is_refused(key: str) -> None:
    way = McpServerSettings.model_validate({key: "no/such.pem"})
    with refused(file="endpoints.yml", key=f"mcp_servers: far: {key}", says="no/such.pem"):
        server_spec(entry(), "clerk", None, way)


def test_d4_a_child_process_takes_no_authentication() -> None:
    way = McpServerSettings(transport="stdio", command="npx")
    with refused(file="endpoints.yml", key="mcp_servers: far", says="env"):
        server_spec(entry(api_key="${KEY}"), "clerk", None, way)


def test_d4_an_address_that_is_none_is_refused_where_it_was_written() -> None:
    way = McpServerSettings(transport="sse", url="shop.example")
    with refused(file="endpoints.yml", key="rasa_react_ext: mcp_servers: far: url", says="http"):
        server_spec(entry(), "clerk", None, way)


def test_d4_numbers_may_be_written_as_numbers_where_the_child_wants_text() -> None:
    way = McpServerSettings.model_validate(
        {"transport": "stdio", "command": "npx", "args": [8080], "env": {"LEVEL": 3}}
    )
    spec = server_spec(entry(), "clerk", None, way)
    assert (spec.args, dict(spec.env)) == (("8080",), {"LEVEL": "3"})
