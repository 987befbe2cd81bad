"""The sample as it is, and broken in every way that a person breaks a project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.host.project import hosts_own_warnings

AGENT = "sub_agents/stock_explorer/config.yml"
ADVISER = "sub_agents/advisor_booking/config.yml"
REPORT = "sub_agents/portfolio_report/config.yml"
BOOKING = "flows/book_advisor.yml"
URL = "${WEALTH_DESK_MARKET_URL}"
POLICY = "rasa_react_ext.policy.ReActPolicy"

Edit = Callable[[str, str, str], None]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """One mistake.

    Attributes:
        file: File that is edited.
        old: Text there.
        new: What takes its place.
        at: File that must be named.
        line: Part of the line that must be named; empty where no line can be.
        key: End of the key that must be named.
        problem: Part of what is wrong.
        fix: Part of what to do.
        level: Level of the finding.
    """

    file: str
    old: str
    new: str
    at: str = ""
    line: str
    key: str
    problem: str
    fix: str
    level: str = "error"


def _template(name: str) -> tuple[str, str]:
    return "  timezone:", f"  prompt_template: prompts/{name}\n  timezone:"


BROKEN = {
    "a typo in our key": Broken(
        file="config.yml",
        old=POLICY,
        new=f"{POLICY}\n    max_stepz: 4",
        line="max_stepz",
        key="max_stepz",
        problem="unknown",
        fix="'max_steps'",
    ),
    "a typo in our section of the endpoints": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  trace_foldr: traces\nmcp_servers:",
        line="trace_foldr",
        key="trace_foldr",
        problem="unknown",
        fix="'trace_folder'",
    ),
    "settings for an agent that is not there": Broken(
        file="config.yml",
        old="    agents:\n",
        new="    agents:\n      stock_explorr:\n        max_steps: 4\n",
        line="stock_explorr",
        key="agents: stock_explorr",
        problem="no such sub agent",
        fix="'stock_explorer'",
    ),
    "an unknown key of a sub agent": Broken(
        file=AGENT,
        old="timezone:",
        new="time_zone:",
        line="time_zone",
        key="configuration: time_zone",
        problem="unknown",
        fix="'timezone'",
    ),
    "an MCP server that the endpoints lack": Broken(
        file=AGENT,
        old="- name: market",
        new="- name: markt",
        line="markt",
        key="mcp_servers: markt",
        problem="no MCP server 'markt'",
        fix="'market'",
    ),
    "a server that is down": Broken(
        file="endpoints.yml",
        old=URL,
        new="http://127.0.0.1:9/mcp",
        line="127.0.0.1:9",
        key="mcp_servers: market: url",
        problem="cannot be reached",
        fix="Start it",
        level="warning",
    ),
    "a server's address that is none": Broken(
        file="endpoints.yml",
        old=URL,
        new="ftp://market/mcp",
        line="ftp:",
        key="mcp_servers: market: url",
        problem="http or https",
        fix="http://",
    ),
    "a model group that the endpoints lack": Broken(
        file=AGENT,
        old="model_group: agents",
        new="model_group: agentz",
        line="agentz",
        key="llm: model_group",
        problem="no model group 'agentz'",
        fix="'agents'",
    ),
    "a prompt template that is not there": Broken(
        file=AGENT,
        old=_template("none.jinja2")[0],
        new=_template("none.jinja2")[1],
        line="none.jinja2",
        key="configuration: prompt_template",
        problem="there is no file",
        fix="Give the path",
    ),
    "a syntax error in a prompt template": Broken(
        file=AGENT,
        old=_template("broken.jinja2")[0],
        new=_template("broken.jinja2")[1],
        at="prompts/broken.jinja2",
        line="{{ user }",
        key="",
        problem="unexpected '}'",
        fix="Correct the Jinja2 syntax",
    ),
    "a variable of a template that nobody provides": Broken(
        file=AGENT,
        old=_template("unknown.jinja2")[0],
        new=_template("unknown.jinja2")[1],
        at="prompts/unknown.jinja2",
        line="{{ shoe_size }}",
        key="shoe_size",
        problem="nobody provides shoe_size",
        fix="Known variables",
        level="warning",
    ),
    "an invalid time zone": Broken(
        file=AGENT,
        old="Europe/Berlin",
        new="Europe/Berlinn",
        line="Berlinn",
        key="configuration: timezone",
        problem="no IANA time zone",
        fix="'Europe/Berlin'",
    ),
    "a slot of exit_if that the domain lacks": Broken(
        file=BOOKING,
        old="slots.investment_amount",
        new="slots.investment_amonut",
        line="investment_amonut",
        key="is not null",
        problem="no slot 'investment_amonut'",
        fix="'investment_amount'",
    ),
    "a slot of exit_if that nothing fills": Broken(
        file="domain.yml",
        old="""      - tax
    mappings:
      - type: from_llm""",
        new="""      - tax
    mappings:
      - type: controlled""",
        at=BOOKING,
        line="exit_if",
        key="exit_if",
        problem="waits for slot 'advisor_topic'",
        fix="process_tool_output",
        level="warning",
    ),
    "a tool that the server does not have": Broken(
        file=ADVISER,
        old="- find_advisers",
        new="- find_advisors",
        line="find_advisors",
        key="include_tools: find_advisors",
        problem="no tool 'find_advisors'",
        fix="'find_advisers'",
    ),
    "our policy without FlowPolicy": Broken(
        file="config.yml",
        old="  - name: FlowPolicy\n",
        new="",
        line="policies:",
        key="policies",
        problem="stands alone",
        fix="- name: FlowPolicy",
    ),
    "a project that does not use us": Broken(
        file="config.yml",
        old=f"  - name: {POLICY}",
        new="",
        line="policies:",
        key="policies",
        problem="host's own engine",
        fix=POLICY,
    ),
    "broken YAML in a flow": Broken(
        file="flows/explore_stocks.yml",
        old="    steps:",
        new="    steps: [",
        line="- call: stock_explorer",
        key="",
        problem="did not find expected",
        fix="Correct the YAML",
    ),
    "a variable of the environment that is not set": Broken(
        file="endpoints.yml",
        old="OPENAI_API_KEY",
        new="NO_SUCH_KEY",
        line="NO_SUCH_KEY",
        key="NO_SUCH_KEY",
        problem="NO_SUCH_KEY is not set",
        fix=".env",
    ),
    "a call of an agent that is not there": Broken(
        file="flows/explore_stocks.yml",
        old="call: stock_explorer",
        new="call: stock_explorr",
        line="stock_explorr",
        key="stock_explorr",
        problem="no flow or agent 'stock_explorr'",
        fix="'stock_explorer'",
    ),
    "an external agent that is called with exit_if": Broken(
        file=ADVISER,
        old="protocol: RASA",
        new="protocol: A2A",
        at=BOOKING,
        line="exit_if",
        key="exit_if",
        problem="no exit conditions",
        fix="Remove exit_if",
    ),
    "a time that is none": Broken(
        file=AGENT,
        old="  timezone:",
        new="  timeout: 0\n  timezone:",
        line="timeout: 0",
        key="configuration: timeout",
        problem="no time in which a turn could run",
        fix="above 0",
    ),
    "a time that no turn can take": Broken(
        file=AGENT,
        old="  timezone:",
        new="  timeout: 3600\n  timezone:",
        line="timeout: 3600",
        key="configuration: timeout",
        problem="a turn ends",
        fix="TICKET_LOCK_LIFETIME",
        level="warning",
    ),
    "a class that cannot be imported": Broken(
        file=AGENT,
        old="  timezone:",
        new="  module: nowhere.Agent\n  timezone:",
        line="",
        key="",
        problem="nowhere",
        fix="",
    ),
    "a lock that two workers can hold": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="lock_store:\n  type: redis\n  url: localhost\nmcp_servers:",
        line="type: redis",
        key="lock_store: type",
        problem="two workers",
        fix="concurrent_redis",
        level="warning",
    ),
    "an action of a flow that the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="utter_opening_hours",
        new="utter_openin_hours",
        line="utter_openin_hours",
        key="utter_openin_hours",
        problem="no response or action 'utter_openin_hours'",
        fix="'utter_opening_hours'",
    ),
    "a slot that is collected and not in the domain": Broken(
        file=BOOKING,
        old="collect: appointment_day",
        new="collect: apointment_day",
        line="apointment_day",
        key="apointment_day",
        problem="no slot 'apointment_day'",
        fix="'appointment_day'",
    ),
    "a slot that is collected and nobody asks for": Broken(
        file="domain.yml",
        old="utter_ask_appointment_day",
        new="utter_ask_apointment_day",
        at=BOOKING,
        line="collect: appointment_day",
        key="appointment_day",
        problem="no response 'utter_ask_appointment_day'",
        fix="'utter_ask_apointment_day'",
    ),
    "a slot of a condition that the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n        next:\n"
        "          - if: slots.apointment_by_phone\n            then: END\n          - else: END",
        line="if: slots.apointment_by_phone",
        key="apointment_by_phone",
        problem="no slot 'apointment_by_phone'",
        fix="'appointment_by_phone'",
    ),
    "a slot that a flow sets and the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- set_slots:\n          - apointment_day: Monday\n      - action: utter_opening_hours",
        line="apointment_day",
        key="apointment_day",
        problem="no slot 'apointment_day'",
        fix="'appointment_day'",
    ),
    "a condition without the namespace of slots": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n        next:\n"
        "          - if: appointment_by_phone\n            then: END\n          - else: END",
        line="if: appointment_by_phone",
        key="opening_hours",
        problem="Rasa says: Predicate 'appointment_by_phone'",
        fix="namespace",
    ),
    "a button of a response that does nothing": Broken(
        file="domain.yml",
        old="- text: Which day suits you?",
        new="- text: Which day suits you?\n      buttons:\n        - title: Monday",
        line="utter_ask_appointment_day",
        key="responses: utter_ask_appointment_day",
        problem="does not have a payload",
        fix="Please add a payload",
    ),
    "a link to a flow that is not there": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n      - link: explore_stoks",
        line="link: explore_stoks",
        key="explore_stoks",
        problem="no flow 'explore_stoks'",
        fix="'explore_stocks'",
    ),
    "a misspelt channel": Broken(
        file="credentials.yml",
        old="rest:",
        new="rset:",
        line="rset:",
        key="rset",
        problem="no channel of this name",
        fix="'rest'",
    ),
    "a misspelt class of a channel": Broken(
        file="credentials.yml",
        old="channels.TaskUpdates:",
        new="channels.TaskUpdate:",
        line="TaskUpdate:",
        key="rasa_react_ext.channels.TaskUpdate",
        problem="no class 'TaskUpdate'",
        fix="'rasa_react_ext.channels.TaskUpdates'",
    ),
    "a misspelt module of a channel": Broken(
        file="credentials.yml",
        old="channels.TaskUpdates:",
        new="chanels.TaskUpdates:",
        line="chanels",
        key="chanels.TaskUpdates",
        problem="cannot be imported",
        fix="'rasa_react_ext.channels.TaskUpdates'",
    ),
    "a channel that needs a package": Broken(
        file="credentials.yml",
        old="rest:",
        new="slack:\n  slack_token: secret",
        line="slack:",
        key="slack",
        problem="not installed",
        fix="rasa-pro[channels]",
    ),
    "a misspelt key of a channel": Broken(
        file="credentials.yml",
        old="user_message_evt",
        new="user_mesage_evt",
        line="user_mesage_evt",
        key="socketio: user_mesage_evt",
        problem="no such key",
        fix="'user_message_evt'",
    ),
    "a key of a channel that has none": Broken(
        file="credentials.yml",
        old="rest:",
        new="rest:\n  verify: true",
        line="verify",
        key="rest: verify",
        problem="no such key",
        fix="Remove it",
    ),
    "a misspelt key of a voice channel": Broken(
        file="credentials.yml",
        old="rest:",
        new="browser_audio:\n  server_url: localhost\n  ttts: {name: azure}\n  asr: {name: azure}",
        line="ttts:",
        key="browser_audio: ttts",
        problem="no such key",
        fix="'tts'",
    ),
    "a key of the server channel": Broken(
        file="credentials.yml",
        old="rest:\n",
        new="rest:\n\nrasa_react_ext.channels.A2AServer:\n  url: https://desk.example\n"
        "  description: A desk.\n  pth: /\n",
        line="pth:",
        key="pth",
        problem="unknown",
        fix="path",
    ),
}

ALONE = {"an external agent that is called with exit_if", "a project that does not use us"}
"""Mistakes that bring others with them: a card is missing, what our policy allows is not."""


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


def test_an_external_agent_that_does_not_answer_is_a_warning(sample: Path, edit: Edit) -> None:
    edit(AGENT, "protocol: RASA", "protocol: A2A")
    edit(AGENT, "configuration:", "configuration:\n  agent_card: http://127.0.0.1:9/card.json")
    inspection = _inspected()
    (finding,) = (f for f in inspection.findings if f.level == "warning")
    assert (finding.file, finding.key) == (AGENT, "configuration: agent_card")
    external = next(agent for agent in inspection.agents if agent.name == "stock_explorer")
    assert (external.kind, external.flows) == ("external", ["explore_stocks"])


def _inspected(*, connect: bool = True) -> Any:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        return asyncio.run(inspect_project(domain="domain.yml", data=["flows"], connect=connect))
