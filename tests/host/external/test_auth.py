"""Credentials of external agents, as the host documents them, through whole turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from rasa.shared.agents.auth.auth_strategy import AgentAuthStrategy
from rasa.shared.agents.auth.types import AgentAuthType

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing import ModelServer
from tests.a2a_client.certificate import certificate
from tests.a2a_client.grpc_remote import grpc_remote
from tests.a2a_client.remote import Remote, remote
from tests.a2a_client.token_endpoint import TokenEndpoint, token_endpoint
from tests.host.external.words import COMMANDS, external, says
from tests.host.project import Project, loaded
from tests.host.refused import logs

pytestmark = pytest.mark.host

Serving = Callable[..., AbstractContextManager[Remote]]
KEY = "key-a-5519"
BOUGHT = ["Bought.", "Come again."]


class Rolling(AgentAuthStrategy):
    """A scheme of a project, with a token that is read anew for each request."""

    def __init__(self, header: str) -> None:
        self.header = header

    tokens: tuple[str, ...] = (KEY,)
    problem: Exception | None = None

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Rolling:
        return cls(config["header"])

    @property
    def auth_type(self) -> AgentAuthType:
        return AgentAuthType.CUSTOM

    async def get_headers(self) -> dict[str, str]:
        if self.problem is not None:
            raise self.problem
        return {self.header: self.tokens[-1]}


MODULE = {"module": f"{__name__}.Rolling", "header": "X-Desk-Key"}
FORMS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "api key": ({"api_key": "${BROKER_KEY}"}, ("authorization", f"Bearer {KEY}")),
    "custom header": (
        {"api_key": "${BROKER_KEY}", "header_name": "X-API-Key", "header_format": "{key}"},
        ("x-api-key", KEY),
    ),
    "module": (MODULE, ("x-desk-key", KEY)),
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_KEY", KEY)


@pytest.fixture(params=[remote, grpc_remote], ids=["JSON-RPC", "gRPC"])
def serving(request: pytest.FixtureRequest) -> Serving:
    """Serves an agent over one transport."""
    given: Serving = request.param
    return given


@pytest.fixture
def plain(project: Project, model: ModelServer) -> Project:
    """The project, with its model scripted."""
    model.use(COMMANDS)
    return project


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenEndpoint]:
    """A token endpoint; address, id and secret are in the environment."""
    with token_endpoint() as endpoint:
        monkeypatch.setenv("TOKEN_URL", endpoint.url)
        monkeypatch.setenv("CLIENT_ID", endpoint.client[0])
        monkeypatch.setenv("CLIENT_SECRET", endpoint.client[1])
        yield endpoint


OAUTH = {
    "oauth": {
        "token_url": "${TOKEN_URL}",
        "client_id": "${CLIENT_ID}",
        "client_secret": "${CLIENT_SECRET}",
        "scope": "trade",
    }
}


@pytest.mark.parametrize("form", FORMS)
async def test_d7_every_documented_form_of_authentication_opens_the_agent(
    plain: Project, serving: Serving, form: str
) -> None:
    auth, (header, value) = FORMS[form]
    with serving(accepts=lambda given: given.get(header) == value) as broker, logs() as captured:
        async with loaded(external(plain, broker, auth=auth)) as agent:
            assert await says(agent, "start trade echo Bought.") == BOUGHT
    assert KEY not in repr(captured)


async def test_d7_a_pre_issued_token_is_refused_and_the_key_that_does_the_same_is_named(
    plain: Project, broker: Remote
) -> None:
    """The host's own validation refuses it, too."""
    await external(plain, broker).train()
    with pytest.raises(ConfigurationError, match=r"api_key: .* sends the same header") as refused:
        async with loaded(external(plain, broker, auth={"token": "${BROKER_KEY}"})):
            pass
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("content", [None, "", "-----BEGIN CERTIFICATE-----\nx\n"])
async def test_d7_a_ca_file_without_authorities_is_refused_at_load(
    plain: Project, broker: Remote, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_text(content)
    project = external(plain, broker).having(section={"agents": {"broker": {"ca_file": str(path)}}})
    says_why = "no such file" if content is None else "no certificates"
    with pytest.raises(ConfigurationError, match=says_why) as refused:
        async with loaded(project):
            pass
    assert refused.value.key == "agents: broker: ca_file"


async def test_d7_an_encrypted_grpc_agent_is_trusted_by_its_ca_file(
    plain: Project, tmp_path: Path
) -> None:
    files = certificate(tmp_path)
    auth, (header, value) = FORMS["custom header"]
    with grpc_remote(certificate=files, accepts=lambda given: given.get(header) == value) as broker:
        project = external(plain, broker, auth=auth)
        trusting = project.having(section={"agents": {"broker": {"ca_file": files[0]}}})
        async with loaded(trusting) as agent:
            assert await says(agent, "start trade echo Bought.") == BOUGHT
        with logs() as captured:
            async with loaded(project) as agent:
                said = await says(agent, "start trade echo Bought.")
    assert BOUGHT[1] not in said
    assert "ca_file" in repr(captured)
    assert broker.done == {"echo": 1}


async def test_d7_one_token_serves_card_and_calls_and_is_renewed_once_when_refused(
    plain: Project, serving: Serving, tokens: TokenEndpoint
) -> None:
    with serving(accepts=tokens.accepts) as broker, logs() as captured:
        async with loaded(external(plain, broker, auth=OAUTH)) as agent:
            first = (says(agent, "start trade echo Bought.", f"anna{n}") for n in range(4))
            assert await asyncio.gather(*first) == [BOUGHT] * 4
            assert tokens.forms == [{"grant_type": "client_credentials", "scope": "trade"}]
            tokens.valid.clear()
            again = (says(agent, "start trade echo Bought.", f"bert{n}") for n in range(4))
            assert await asyncio.gather(*again) == [BOUGHT] * 4
    assert len(tokens.forms) == 2, "one renewal for all"
    assert tokens.client[1] not in repr(captured)
    assert "t0ken" not in repr(captured)


async def test_d7_a_token_that_stays_refused_ends_the_flow_after_a_renewal_per_request(
    plain: Project, serving: Serving, tokens: TokenEndpoint
) -> None:
    with serving(accepts=tokens.accepts) as broker, logs() as captured:
        async with loaded(external(plain, broker, auth=OAUTH)) as agent:
            await says(agent, "start trade echo Bought.")
            given = len(tokens.forms)
            broker.accepts = lambda _: False
            assert BOUGHT[1] not in await says(agent, "start trade echo Again.")
    # The message, and the card where it is read once more.
    assert 1 <= len(tokens.forms) - given <= 2
    assert broker.done == {"echo": 1}
    assert "refused the message" in repr(captured)
    assert "t0ken" not in repr(captured)


REFUSALS: list[tuple[str, tuple[int, Any] | None, str]] = [
    ("wrong-9213", None, "the token endpoint answered HTTP 401"),
    ("", (503, {}), "the token endpoint answered HTTP 503"),
    ("", (200, {"error": "none for you"}), "cannot authenticate: ValueError"),
]


@pytest.mark.parametrize(("secret", "answer", "says_why"), REFUSALS)
async def test_d7_without_a_token_nothing_is_sent_and_the_log_says_why_without_secrets(
    plain: Project,
    serving: Serving,
    tokens: TokenEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    secret: str,
    answer: tuple[int, Any] | None,
    says_why: str,
) -> None:
    monkeypatch.setenv("CLIENT_SECRET", secret or tokens.client[1])
    tokens.answer = answer
    with serving() as broker, logs() as captured:
        card = _card_file(broker, tmp_path)
        async with loaded(external(plain, broker, auth=OAUTH, agent_card=card)) as agent:
            said = await says(agent, "start trade echo Bought.")
            tracker = await agent.tracker_store.retrieve("anna")
    assert BOUGHT[1] not in said
    assert "flow_cancelled" in [event.type_name for event in tracker.events]
    assert broker.done.total() == 0
    assert says_why in repr(captured)
    for hidden in (secret or tokens.client[1], "t0ken"):
        assert hidden not in repr(captured)
        assert hidden not in str(tracker.current_state())


async def test_d7_a_token_endpoint_that_is_down_is_named(
    plain: Project, serving: Serving, tokens: TokenEndpoint
) -> None:
    assert tokens.served is not None
    tokens.served.stop()
    with serving() as broker, logs() as captured:
        async with loaded(external(plain, broker, auth=OAUTH)) as agent:
            assert BOUGHT[1] not in await says(agent, "start trade echo Bought.")
    assert "the token endpoint cannot be reached (ConnectError)" in repr(captured)
    assert broker.done.total() == 0


async def test_d7_a_scheme_of_the_project_is_asked_again_after_a_401(
    plain: Project, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(accepts=lambda given: given.get("x-desk-key") == Rolling.tokens[-1]) as broker:
        async with loaded(external(plain, broker, auth=MODULE)) as agent:
            assert await says(agent, "start trade echo Bought.") == BOUGHT
            monkeypatch.setattr(Rolling, "tokens", (KEY, "fresh"))
            assert await says(agent, "start trade echo Bought.") == BOUGHT


async def test_d7_a_scheme_of_the_project_that_fails_tells_no_secret(
    plain: Project, serving: Serving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Rolling, "problem", KeyError(f"no vault for {KEY}"))
    with serving() as broker, logs() as captured:
        card = _card_file(broker, tmp_path)
        async with loaded(external(plain, broker, auth=MODULE, agent_card=card)) as agent:
            assert BOUGHT[1] not in await says(agent, "start trade echo Bought.")
    assert "cannot authenticate: KeyError" in repr(captured)
    assert KEY not in repr(captured)
    assert broker.done.total() == 0


def _card_file(broker: Remote, folder: Path) -> str:
    """The card as a file, so that the first who needs credentials is the message."""
    path = folder / "card.json"
    path.write_text(json.dumps(broker.card_json()))
    return str(path)
