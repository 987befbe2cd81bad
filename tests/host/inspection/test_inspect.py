"""The sample as it is, and broken in every way that a person breaks a project."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.a2a_client.remote import remote
from tests.host.inspection.broken_action import ACTIONS
from tests.host.inspection.broken_agent import AGENTS
from tests.host.inspection.broken_call import CALLS
from tests.host.inspection.broken_connection import CONNECTIONS
from tests.host.inspection.broken_flow import FLOWS
from tests.host.inspection.broken_form import FORMS
from tests.host.inspection.broken_model import MODELS
from tests.host.inspection.broken_server import SERVERS
from tests.host.inspection.broken_slot import SLOTS
from tests.host.inspection.broken_twice import TWICE
from tests.host.inspection.mistake import ADVISER, AGENT, POLICY, REPORT, URL
from tests.host.project import hosts_own_warnings

Edit = Callable[[str, str, str], None]


_OF_PARTS = {**ACTIONS, **AGENTS, **CALLS, **FLOWS, **SLOTS}
BROKEN = {**_OF_PARTS, **CONNECTIONS, **FORMS, **MODELS, **SERVERS, **TWICE}

ALONE = {
    "an external agent that is called with exit_if",
    "a project that does not use us",
    "a wrong value of the server channel",
    "a key of the server channel",
}
"""Mistakes that bring others with them: a card is missing, what our policy allows is not, and
the sample's sessions do not go on after a pause."""


@pytest.fixture
def prompts(sample: Path) -> None:
    """Templates that the broken projects name."""
    folder = sample / "prompts"
    folder.mkdir()
    (folder / "broken.jinja2").write_text("Hello\n{{ user }\n", encoding="utf-8")
    (folder / "unknown.jinja2").write_text("Hello\n{{ shoe_size }}\n", encoding="utf-8")


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_told_once_with_file_line_key_and_fix(
    name: str, sample: Path, prompts: None, edit: Edit
) -> None:
    broken = BROKEN[name]
    edit(broken.file, broken.old, broken.new)
    found = _inspected().findings
    if name in ALONE:
        found = [finding for finding in found if broken.problem in finding.problem]
    assert len(found) == 1, [f"{f.file}:{f.line} {f.key} {f.problem}" for f in found]
    finding = found[0]
    assert finding.level == broken.level
    assert finding.file == (broken.at or broken.file)
    if broken.line:
        lines = (sample / finding.file).read_text(encoding="utf-8").splitlines()
        assert finding.line is not None
        assert broken.line in lines[finding.line - 1]
    assert finding.key.endswith(broken.key)
    assert broken.problem in finding.problem
    assert broken.fix in finding.fix


def test_nothing_is_wrong_with_the_sample_and_its_agents_are_shown_as_they_would_run(
    sample: Path,
) -> None:
    inspection = _inspected()
    assert inspection.findings == []
    adviser, portfolio, risk, explorer = inspection.agents
    assert (adviser.name, adviser.kind, adviser.flows) == (
        "advisor_booking",
        "task",
        ["book_advisor"],
    )
    assert list(adviser.servers) == ["market: ready"]
    assert set(adviser.tools) == {
        "find_advisers",
        "set_slot_advisor_topic",
        "set_slot_investment_amount",
    }
    assert list(adviser.slots) == ["advisor_topic", "investment_amount"]
    for report in (portfolio, risk):
        assert (report.kind, report.flows) == ("external", [f"order_{report.name}"])
        assert "ready, Reporting house (Portfolio and risk reports)" in report.servers[0]
    assert explorer.kind == "open"
    assert "task_completed" in explorer.tools
    assert "place_buy_order" not in explorer.tools
    assert "Helps the customer look into listed companies" in explorer.prompt
    assert explorer.prompt_tokens is not None
    assert explorer.prompt_tokens > 100


def test_nobody_is_asked_when_that_is_not_wanted(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", URL, "http://127.0.0.1:9/mcp")
    inspection = _inspected(connect=False)
    assert inspection.findings == []
    assert {
        server.rpartition(": ")[2] for agent in inspection.agents for server in agent.servers
    } == {"not asked"}


def test_reports_that_no_channel_takes_are_told_for_each_agent(sample: Path, edit: Edit) -> None:
    edit("credentials.yml", "rasa_react_ext.channels.TaskUpdates:\n", "")
    found = _inspected().findings
    assert [finding.file for finding in found] == [REPORT, REPORT.replace("portfolio", "risk")]
    for finding in found:
        assert (finding.level, finding.key) == ("warning", "configuration: push_notification_url")
        assert "is waited for" in finding.problem
        assert "rasa_react_ext.channels.TaskUpdates" in finding.fix


def test_a_variable_that_is_not_set_is_shown_as_it_is_written(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEALTH_DESK_AGENTS_MODEL")
    monkeypatch.delenv("WEALTH_DESK_REPORTS_CARD")
    inspection = _inspected()
    shown = str(inspection.to_json())
    assert "unset.invalid" not in shown
    assert inspection.agents[0].model == "${WEALTH_DESK_AGENTS_MODEL}"
    assert list(inspection.agents[1].servers) == ["${WEALTH_DESK_REPORTS_CARD}: not asked"]
    assert {finding.key for finding in inspection.findings} == {
        "WEALTH_DESK_AGENTS_MODEL",
        "WEALTH_DESK_REPORTS_CARD",
    }


def test_an_example_of_the_variables_is_pointed_at(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEALTH_DESK_AGENTS_MODEL")
    (sample / ".env.example").write_text("WEALTH_DESK_AGENTS_MODEL=one\n", encoding="utf-8")
    (finding,) = _inspected(connect=False).findings
    assert finding.fix.endswith(".env.example has a value to begin with.")


@pytest.mark.parametrize(
    ("text", "is_near"),
    [
        ("export WEALTH_DESK_AGENT_MODEL=secret-word\n", True),
        ("WEALTH_DESK_AGENTS_MODEL_2 = secret-word\n", True),
        ("# WEALTH_DESK_AGENT_MODEL=secret-word\n", False),
        ("WEALTH_DESK_COMMANDS_MODEL=secret-word\n", False),
    ],
)
def test_a_near_name_in_the_file_of_variables_is_offered_without_its_value(
    text: str, is_near: bool, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEALTH_DESK_AGENTS_MODEL")
    for name in ("WEALTH_DESK_AGENT_MODEL", "WEALTH_DESK_AGENTS_MODEL_2"):
        monkeypatch.setenv(name, "given back at the end of the test")
    (sample / ".env").write_text(text, encoding="utf-8")
    (finding,) = _inspected(connect=False).findings
    assert finding.key == "WEALTH_DESK_AGENTS_MODEL"
    assert ("which is near to it" in finding.fix) is is_near
    assert "secret-word" not in f"{finding.problem}{finding.fix}"


def test_a_wrong_path_of_a_server_is_shown_as_it_was_asked_without_secrets(
    sample: Path, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = f"{market.replace('//', '//me:secret@')}-not?key=secret"
    monkeypatch.setenv("WEALTH_DESK_MARKET_URL", wrong)
    (finding,) = _inspected().findings
    assert (finding.level, finding.key) == ("warning", "mcp_servers: market: url")
    assert f"({market}-not)" in finding.problem
    assert "secret" not in f"{finding.problem}{finding.fix}"


@pytest.mark.parametrize(("domain", "data"), [("nosuch.yml", "flows"), ("domain.yml", "nosuch")])
def test_a_path_that_was_given_and_is_not_there_is_told_first(
    domain: str, data: str, sample: Path, edit: Edit
) -> None:
    edit("config.yml", POLICY, f"{POLICY}\n    max_stepz: 4")
    first, second = _inspected(connect=False, domain=domain, data=data).findings
    missing = next(path for path in (domain, data) if path.startswith("nosuch"))
    assert (first.level, first.file) == ("error", missing)
    assert first.problem == f"there is no such file or folder: {missing!r}."
    assert second.key.endswith("max_stepz")


def test_a_value_below_a_misspelt_key_is_told_in_the_line_of_the_key(
    sample: Path, edit: Edit
) -> None:
    edit(REPORT, "agent_card: ${WEALTH_DESK_REPORTS_CARD}", "agent_crad: cards/none.json")
    key, value = _inspected(connect=False).findings
    assert key.key == "configuration: agent_crad"
    assert "'cards/none.json'" in value.problem
    assert value.line == key.line


def test_a_folder_of_an_agent_without_its_file_is_told_what_to_write(sample: Path) -> None:
    (sample / "sub_agents/risk_report/config.yml").unlink()
    inspection = _inspected()
    (finding,) = inspection.findings
    assert (finding.file, finding.problem) == (
        "sub_agents/risk_report/config.yml",
        "there is no such file.",
    )
    assert "remove the folder" in finding.fix
    assert len(inspection.agents) == 3


def test_words_of_the_library_that_reads_values_are_not_shown(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", "- name: market", "- namex: [market]\n    meta_map: 3")
    edit(AGENT, "configuration:", "configuration:\n  include_date_time: often\n  max_retries: []")
    edit(REPORT, "push_notification_url: ${WEALTH_DESK_URL}", "push_notification_url: 8")
    for finding in _inspected().findings:
        words = f"{finding.problem} {finding.fix}".lower()
        for strange in ("pydantic", "input should", "unable to", "validation error"):
            assert strange not in words


def test_a_part_of_an_agent_that_holds_no_keys_is_told(sample: Path, edit: Edit) -> None:
    edit(AGENT, "configuration:\n  llm:\n    model_group: agents\n", "configuration: agents\n")
    edit(AGENT, "  timezone: Europe/Berlin\n", "")
    (finding,) = _inspected(connect=False).findings
    assert (finding.file, finding.key) == (AGENT, "configuration")
    assert finding.problem == "this must hold keys."


def test_several_mistakes_are_found_in_one_go(sample: Path, edit: Edit) -> None:
    edit("config.yml", POLICY, f"{POLICY}\n    max_stepz: 4")
    edit(AGENT, "timezone:", "time_zone:")
    edit(ADVISER, "Europe/Berlin", "Europe/Berlinn")
    edit("endpoints.yml", "OPENAI_API_KEY", "NO_SUCH_KEY")
    found = {finding.key.split(": ")[-1] for finding in _inspected().findings}
    assert found == {"max_stepz", "time_zone", "timezone", "NO_SUCH_KEY"}


def test_a_folder_that_is_no_project_is_told_so(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yml").unlink()
    (tmp_path / "endpoints.yml").unlink()
    found = {finding.file: finding for finding in _inspected().findings}
    assert set(found) == {"config.yml", "endpoints.yml"}
    assert "in the project's folder" in found["config.yml"].fix


def test_a_file_of_variables_beside_the_project_is_read(
    sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit("endpoints.yml", "OPENAI_API_KEY", "KEY_FROM_FILE")
    monkeypatch.setenv("KEY_FROM_FILE", "given back at the end of the test")
    monkeypatch.delenv("KEY_FROM_FILE")
    (sample / ".env").write_text("KEY_FROM_FILE=offline\n", encoding="utf-8")
    assert _inspected().findings == []


@pytest.mark.parametrize("own", [False, True])
def test_a_file_of_variables_above_the_project_is_read_where_it_has_none(
    own: bool, sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit("endpoints.yml", "OPENAI_API_KEY", "KEY_FROM_FILE")
    monkeypatch.setenv("KEY_FROM_FILE", "given back at the end of the test")
    monkeypatch.delenv("KEY_FROM_FILE")
    parts = list(sample.iterdir())
    desk = sample / "desk"
    desk.mkdir()
    for part in parts:
        part.rename(desk / part.name)
    (sample / ".env").write_text("KEY_FROM_FILE=offline\n", encoding="utf-8")
    if own:
        (desk / ".env").write_text("ANOTHER_KEY_OF_THE_DESK=\n", encoding="utf-8")
        monkeypatch.setenv("ANOTHER_KEY_OF_THE_DESK", "")
    monkeypatch.chdir(desk)
    assert [finding.key for finding in _inspected().findings] == ["KEY_FROM_FILE"] * own


def test_an_external_agent_that_does_not_answer_is_a_warning(sample: Path, edit: Edit) -> None:
    edit(AGENT, "protocol: RASA", "protocol: A2A")
    edit(AGENT, "configuration:", "configuration:\n  agent_card: http://127.0.0.1:9/card.json")
    inspection = _inspected()
    (finding,) = (f for f in inspection.findings if f.level == "warning")
    assert (finding.file, finding.key) == (AGENT, "configuration: agent_card")
    external = next(agent for agent in inspection.agents if agent.name == "stock_explorer")
    assert (external.kind, external.flows) == ("external", ["explore_stocks"])


@pytest.mark.parametrize("description", ["", "\n  description: [A, desk]", "\n  description: 5"])
def test_mistakes_of_the_server_channel_are_told_together_whatever_is_missing(
    sample: Path, edit: Edit, description: str
) -> None:
    entry = f"""rest:

rasa_react_ext.channels.A2AServer:{description}
  url: https://desk.example
  max_contexts: many
  grpc: {{interface: 0.0.0.0}}
  auth:
    api_key: {{header: X-Key}}
  card_signing: {{key_id: k, algorithm: none}}
  lease_seconds: 0
  pathh: /a
"""
    edit("credentials.yml", "rest:", entry)
    keys = [f.key.rpartition("A2AServer: ")[2] for f in _inspected().findings]
    assert sorted(key for key in keys if "session" not in key) == [
        "auth: api_key: keys",
        "card_signing: algorithm",
        "card_signing: private_key_path",
        "description",
        "grpc: port",
        "lease_seconds",
        "max_contexts",
        "pathh",
    ]


@pytest.mark.parametrize(
    ("interface", "field"),
    [
        ({"url": "ftp:/x"}, "supportedInterfaces[0].url: 'ftp:/x'"),
        ({"url": "http:///rpc"}, "supportedInterfaces[0].url: 'http:///rpc'"),
        ({"protocolVersion": "9.9"}, "supportedInterfaces[0].protocolVersion: '9.9'"),
    ],
)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_card_nobody_can_speak_to_is_an_error_that_names_its_field(
    sample: Path, edit: Edit, interface: dict[str, str], field: str, in_a_file: bool
) -> None:
    with remote() as agent:
        card = agent.card_json()
        card["supportedInterfaces"][0] |= interface
        agent.card_changes = card
        (sample / "card.json").write_text(json.dumps(card), encoding="utf-8")
        place = "card.json" if in_a_file else agent.card_url
        edit(AGENT, "protocol: RASA", "protocol: A2A")
        edit(AGENT, "configuration:", f"configuration:\n  agent_card: {place}")
        inspection = _inspected(connect=not in_a_file)
    (finding,) = (f for f in inspection.findings if f.key == "configuration: agent_card")
    assert (finding.level, finding.file) == ("error", AGENT)
    assert finding.line is not None
    assert place in finding.problem
    assert field in finding.problem
    assert "card" in finding.fix


def _inspected(*, connect: bool = True, domain: str = "domain.yml", data: str = "flows") -> Any:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        return asyncio.run(inspect_project(domain=domain, data=[data], connect=connect))
