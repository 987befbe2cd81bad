"""What the project must be like, and what a model loaded meanwhile changes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from rasa_react_ext.errors import ConfigurationError
from tests.host.a2a.bank import served
from tests.host.a2a.talk import Caller
from tests.host.project import Project, loaded


async def skills(url: str) -> set[str]:
    async with httpx.AsyncClient() as http:
        card = json.loads((await http.get(url + "/.well-known/agent-card.json")).text)
    return {skill["id"] for skill in card["skills"]}


async def test_the_card_shows_flows_and_patterns_but_none_that_only_flows_start(
    bank_project: Project,
) -> None:
    async with served(bank_project) as (url, _):
        found = await skills(url)
        assert {"transfer_money", "show_balance", "pattern_cancel_flow"} <= found
        assert "hidden" not in found
    async with served(bank_project, {"include_conversation_repair": False}) as (url, _):
        assert {name for name in await skills(url) if name.startswith("pattern_")} == set()


async def test_d8_sessions_must_go_on_after_a_pause(bank_project: Project) -> None:
    from rasa.exceptions import ValidationError

    domain = bank_project.domain.replace(
        "start_session_after_expiry: false", "start_session_after_expiry: true"
    )
    with pytest.raises(ValidationError) as refused:
        async with served(bank_project.having(domain=domain)):
            pass
    assert refused.value.code == "validation.a2a_server.incompatible_session_config"
    assert "start_session_after_expiry: false" in refused.value.info


async def test_d8_the_hosts_own_block_is_refused_with_the_keys_to_move(
    bank_project: Project,
) -> None:
    from rasa.core.config.configuration import Configuration

    from rasa_react_ext.channels import A2AServer

    bank_project.open()
    endpoints = bank_project.folder / "endpoints.yml"
    block = "a2a_server:\n  description: A bank.\n  max_contexts: 5\n"
    endpoints.write_text(endpoints.read_text() + block)
    Configuration.initialise_endpoints(endpoints)
    with pytest.raises(ConfigurationError) as refused:
        A2AServer.from_credentials({"description": "A bank."})
    assert refused.value.key == "a2a_server"
    assert "description, max_contexts" in refused.value.fix


def test_values_from_the_environment_are_filled_in(
    bank_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rasa.shared.exceptions import RasaException

    from rasa_react_ext.channels import A2AServer

    bank_project.open()
    monkeypatch.setenv("BANK_KEY", "key-a")
    entry: dict[str, Any] = {
        "description": "A bank.",
        "auth": {"api_key": {"keys": {"anna": "${BANK_KEY}"}}},
    }
    channel = A2AServer.from_credentials(entry)
    settings = channel._settings.auth
    assert settings is not None
    assert settings.api_key is not None
    assert settings.api_key.keys["anna"].get_secret_value() == "key-a"
    monkeypatch.delenv("BANK_KEY")
    with pytest.raises(RasaException) as refused:
        A2AServer.from_credentials(entry)
    assert str(refused.value) == (
        "credentials.yml: rasa_react_ext.channels.A2AServer: auth: api_key: keys: anna: the "
        "environment variable BANK_KEY is not set. Set BANK_KEY, in .env or where the server is "
        "started."
    )
    entry["auth"]["api_key"]["keys"]["anna"] = "a-real-secret$BANK${"
    A2AServer.from_credentials(entry)


async def test_a_model_loaded_meanwhile_answers_the_next_turn_and_changes_the_card(
    bank_project: Project,
) -> None:
    other = bank_project.having(
        flows=bank_project.flows.replace("show_balance:", "show_savings:"),
    )
    async with served(bank_project) as (url, app):
        caller = Caller(url)
        assert await caller.say("start transfer_money") == "input_required"
        async with loaded(other) as agent:
            app.ctx.agent = agent
            agent.tracker_store = app.ctx.agent.tracker_store
            assert "show_savings" in await skills(url)
            assert await Caller(url, context="d").say("start show_savings") == "completed"


async def test_without_a_model_a_task_fails_and_the_card_says_so(bank_project: Project) -> None:
    async with served(bank_project) as (url, app):
        agent, app.ctx.agent = app.ctx.agent, None
        assert await Caller(url).say("hello") == "failed"
        async with httpx.AsyncClient() as http:
            card = await http.get(url + "/.well-known/agent-card.json")
        assert card.status_code == 503
        app.ctx.agent = agent


async def test_all_is_served_below_a_path_where_one_is_set(bank_project: Project) -> None:
    async with served(bank_project, {"path": "/agents/bank"}) as (url, _):
        below = f"{url}/agents/bank"
        assert await Caller(below).say("start show_balance") == "completed"
        async with httpx.AsyncClient() as http:
            card = (await http.get(below + "/.well-known/agent-card.json")).json()
        assert card["supportedInterfaces"][0]["url"] == f"{below}/"


async def test_every_binding_and_version_is_served_on_the_hosts_port(
    bank_project: Project,
) -> None:
    from a2a.types import CancelTaskRequest, GetTaskRequest

    from tests.a2a_server.serving import client, send, task_of
    from tests.a2a_server.test_conversation import BINDINGS

    async with served(bank_project) as (url, _):
        for number, (binding, version) in enumerate(BINDINGS):
            for streaming in (True, False):
                context = f"c{number}{streaming}"
                async with client(url, binding, version=version, streaming=streaming) as made:
                    events = await send(made, "start transfer_money", context_id=context)
                    task_id = task_of(events).id
                    read = await made.get_task(GetTaskRequest(id=task_id))
                    assert read.status.state == 6
                    canceled = await made.cancel_task(CancelTaskRequest(id=task_id))
                    assert canceled.status.state == 5


async def test_a_body_that_is_too_large_is_refused_on_the_hosts_port(
    bank_project: Project,
) -> None:
    async with (
        served(bank_project, {"max_body_bytes": 1000}) as (url, _),
        httpx.AsyncClient() as http,
    ):
        for content in (b"x" * 5000, _pieces()):
            response = await http.post(
                url + "/", content=content, headers={"Content-Type": "application/json"}
            )
            assert response.status_code == 413
        assert (await http.get(url + "/a2a/health")).json()["status"] == "ok"


async def _pieces() -> Any:
    for _ in range(50):
        yield b"x" * 1000
