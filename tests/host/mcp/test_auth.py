"""Credentials of MCP servers, as the host documents them, through a whole agent turn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from rasa.exceptions import ValidationError
from rasa.shared.agents.auth.auth_strategy import AgentAuthStrategy
from rasa.shared.agents.auth.types import AgentAuthType

from rasa_react_ext.host.mcp.auth import server_auth
from rasa_react_ext.host.server import server_spec
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, then
from tests.host.project import Project
from tests.host.refused import logs, refused
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.test_auth import Gate

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
SECRET = "sesame-5519"
CALL = (calling("slow", seconds=0), then("Done."))


class Rolling(AgentAuthStrategy):
    """A scheme of a project, with a token that is read anew for each request."""

    tokens: tuple[str, ...] = (SECRET,)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Rolling:
        if config.get("broken"):
            raise ValueError(f"no vault for {SECRET}")
        return cls()

    @property
    def auth_type(self) -> AgentAuthType:
        return AgentAuthType.CUSTOM

    async def get_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[-1]}"}


MODULE = f"{__name__}.Rolling"


@pytest.fixture
def gate(done: Counter[str]) -> Gate:
    """A gate before the shop, open for the secret."""
    gate = Gate(done)
    gate.valid.add(SECRET)
    return gate


@pytest.fixture
def guarded(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The shop behind the gate; the secret is in the environment."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    with serving(gate.app) as served:
        monkeypatch.setenv("TOKEN_URL", served.url.replace("/mcp", "/token"))
        yield served


OAUTH = {
    "oauth": {
        "token_url": "${TOKEN_URL}",
        "client_id": "clerk",
        "client_secret": "${SHOP_SECRET}",
        "scope": "shop",
        "timeout": 4,
    }
}


def with_entry(project: Project, served: Served, **params: Any) -> Project:
    """The project whose store is behind the gate, with these keys in the host's own list."""
    return project.having(servers={"store": served.url}, params={"store": params})


@pytest.mark.parametrize(
    "params",
    [
        {"api_key": "${SHOP_SECRET}"},
        {
            "api_key": "${SHOP_SECRET}",
            "header_name": "authorization",
            "header_format": "Bearer {key}",
        },
        {"module": MODULE},
        OAUTH,
    ],
    ids=["api key", "custom header", "module", "oauth"],
)
async def test_d4_every_documented_form_of_authentication_opens_the_server(
    project: Project, script: Script, guarded: Served, params: Mapping[str, Any]
) -> None:
    model = script(*CALL)
    with logs() as captured:
        async with agent_at_work(with_entry(project, guarded, **params)) as agent:
            await take_turn(agent, agent_input("the lamp"))
    assert results(model) == ["late"]
    assert SECRET not in repr(captured)


async def test_b67_agents_and_calls_share_one_token_which_is_renewed_once_when_refused(
    project: Project, script: Script, guarded: Served, gate: Gate
) -> None:
    script(calling("slow", seconds=0), then("Done."))
    ours = with_entry(project, guarded, **OAUTH)
    async with agent_at_work(ours) as agent:
        await take_turn(agent, agent_input("the lamp"))
        assert gate.issued == 1
        assert gate.forms[0] == {"grant_type": "client_credentials", "scope": "shop"}
        gate.valid.clear()
        inputs = [agent_input("again") for _ in range(5)]
        await asyncio.gather(*(take_turn(agent, given) for given in inputs))
        assert gate.issued == 2, "one renewal for all"


async def test_b67_a_token_that_stays_refused_ends_as_a_failed_call_without_secrets(
    project: Project, script: Script, guarded: Served, gate: Gate
) -> None:
    gate.refuse_all = True
    model = script({"when": {"model": "agents"}, "answer": "The shop is closed."})
    with logs() as captured:
        async with agent_at_work(with_entry(project, guarded, **OAUTH)) as agent:
            output = await take_turn(agent, agent_input("the lamp"))
    assert output.response_message == "The shop is closed."
    assert "401" in model.messages()[0]["content"]
    assert SECRET not in repr(captured)
    assert gate.issued <= 2


async def test_b67_a_scheme_of_the_project_is_asked_again_after_a_401(
    project: Project,
    script: Script,
    guarded: Served,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = script(*CALL)
    async with agent_at_work(with_entry(project, guarded, module=MODULE)) as agent:
        await take_turn(agent, agent_input("the lamp"))
        gate.valid.clear()
        gate.valid.add("fresh")
        monkeypatch.setattr(Rolling, "tokens", (*Rolling.tokens, "fresh"))
        await take_turn(agent, agent_input("again"))
    assert results(model) == ["late"]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"api_kye": "${SHOP_SECRET}"}, "'api_kye' is no authentication"),
        ({"oauth": {"client_id": "clerk"}}, "lacks token_url, client_secret"),
        ({"oauth": "yes"}, "lacks token_url, client_id, client_secret"),
        ({"module": "no.such.Scheme"}, "cannot be made"),
        ({"module": "collections.Counter"}, "cannot be made"),
        ({"module": MODULE, "broken": True}, "cannot be made (ValueError)"),
        ({"token": ""}, "cannot be made"),
    ],
)
def test_d4_a_wrong_authentication_is_refused_at_load_without_secrets(
    params: Mapping[str, Any], says: str
) -> None:
    with refused(file="endpoints.yml", key="mcp_servers: store", says=says), logs() as captured:
        server_auth("store", params)
    assert SECRET not in repr(captured)


async def test_d4_a_bearer_token_signs_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    auth = server_auth("store", {"token": "${SHOP_SECRET}"})
    assert auth is not None
    request = httpx.Request("POST", "http://localhost:9/mcp")
    await anext(auth.async_auth_flow(request))
    assert request.headers["Authorization"] == f"Bearer {SECRET}"


async def test_the_host_itself_cannot_read_a_bearer_token_from_a_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fills in the variable and then demands one; the docs name api_key instead."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    with pytest.raises(ValidationError, match="must be set as an environment variable"):
        project.having(params={"store": {"token": "${SHOP_SECRET}"}}).open()


def test_d4_no_keys_are_no_authentication() -> None:
    assert server_auth("store", {}) is None


def test_d4_servers_share_a_session_only_where_address_headers_and_credentials_are_equal() -> None:
    from rasa.core.available_agents import AgentMCPServerConfig

    from rasa_react_ext.host.settings import McpServerSettings

    def key(name: str = "a", header: str = "", **params: Any) -> Any:
        entry = AgentMCPServerConfig(
            name=name, url="http://localhost:9/mcp", type="http", additional_params=params
        )
        headers = {"X-Key": header} if header else {}
        way = McpServerSettings.model_validate({"headers": headers})
        return server_spec(entry, "clerk", None, way).key

    assert key("a", token="${ONE}") == key("b", token="${ONE}")
    different = [key(), key(token="${ONE}"), key(token="${TWO}"), key(header="1"), key(header="2")]
    assert len(set(different)) == len(different)
