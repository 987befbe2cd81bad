"""A wrong agent is refused with file, key and fix before it is ever called."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.errors import ConfigurationError

pytestmark = pytest.mark.host

CARD = "https://agent.example/card.json"


def built(settings: dict[str, Any] | None = None, **configuration: Any) -> Any:
    from rasa.core.available_agents import (
        AgentConfig,
        AgentConfiguration,
        AgentInfo,
        ProtocolConfig,
    )
    from rasa.core.config.available_endpoints import AvailableEndpoints

    from rasa_react_ext.host.external.build import build_external_agents
    from rasa_react_ext.host.settings import read_settings

    config = AgentConfig(
        agent=AgentInfo(name="broker", protocol=ProtocolConfig.A2A, description="trades"),
        configuration=AgentConfiguration(**{"agent_card": CARD, **configuration}),
    )
    policy = {"agents": {"broker": settings}} if settings else {}
    agents = build_external_agents(
        {"broker": config}, AvailableEndpoints(), read_settings(policy, None)
    )
    return next(iter(agents.values()))


@pytest.mark.parametrize(
    ("configuration", "key", "problem"),
    [
        ({"agent_card": None}, "agent_card", "missing"),
        ({"timeout": 0}, "timeout", "no time to wait"),
        ({"max_retries": -1}, "max_retries", "below 0"),
        ({"auth": {"api_key": "plain"}}, "auth", "plain text"),
        ({"auth": {"token": "plain"}}, "auth", "plain text"),
        ({"auth": {"oauth": {"client_id": "x", "client_secret": "plain"}}}, "auth", "plain text"),
        ({"auth": {"oauth": {"client_id": "x"}}}, "auth", "cannot be used"),
        ({"auth": {"unknown": "x"}}, "auth", "cannot be used"),
        ({"module": "nowhere.Agent"}, "module", "cannot be imported"),
        ({"module": "tests.host.project.Project"}, "module", "no external agent class"),
        ({"push_notification_url": "ftp://x"}, "push_notification_url", "no http"),
        ({"push_notification_url": "http://rasa.example.com"}, "push_notification_url", "public"),
        ({"push_notification_url": "https://10.0.0.1"}, "push_notification_url", "public HTTPS"),
        ({"push_notification_url": "https://localhost"}, "push_notification_url", "public HTTPS"),
    ],
)
def test_a_wrong_key_is_refused_with_file_key_and_fix(
    configuration: dict[str, Any], key: str, problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem) as caught:
        built(**configuration)
    assert caught.value.file == "sub_agents: broker: config.yml"
    assert caught.value.key == f"configuration: {key}"
    assert caught.value.fix


def test_a_hook_that_cannot_be_imported_is_refused_in_the_hosts_own_way() -> None:
    from rasa.exceptions import ValidationError

    with pytest.raises(ValidationError) as caught:
        built(pre_call_hook="nowhere.hook")
    assert caught.value.code == "validation.pre_call_hook.unresolved"


def test_a_private_push_address_can_be_allowed() -> None:
    agent = built({"allow_private_push_url": True}, push_notification_url="http://127.0.0.1:5005/")
    assert agent.push_url == "http://127.0.0.1:5005"
    assert not agent.is_async()


def test_secrets_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_KEY", "s3cret")
    agent = built(auth={"api_key": "${BROKER_KEY}", "header_name": "X-Key"})
    assert agent.connection.spec.make_auth is not None


def test_settings_of_the_other_kind_of_agent_are_refused() -> None:
    from rasa_react_ext.host.settings import check_kinds, read_settings

    settings = read_settings({"agents": {"broker": {"max_steps": 3}}}, None)
    with pytest.raises(ConfigurationError, match="external agent"):
        check_kinds(settings, {"broker"})
    settings = read_settings({"agents": {"clerk": {"busy": "free"}}}, None)
    with pytest.raises(ConfigurationError, match="ReAct agent"):
        check_kinds(settings, {"broker"})


def test_a_wrong_key_below_share_names_the_nearest() -> None:
    from rasa_react_ext.host.settings import read_settings

    with pytest.raises(ConfigurationError, match="Did you mean 'slots'"):
        read_settings({"agents": {"broker": {"share": {"slot": []}}}}, None)
