"""Several mistakes at once, of which none hides another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host.inspection.mistake import ADVISER, AGENT, POLICY, template
from tests.host.project import hosts_own_warnings

Edit = Callable[[str, str, str], None]

HIDING = {
    "a value of an agent and its own name": (
        [("config.yml", "    agents:\n", "    agents:\n      nobody:\n        max_steps: 0\n")],
        {"nobody", "max_steps"},
    ),
    "the second policy and a value in each": (
        [
            ("config.yml", "policies:\n", f"policies:\n  - name: {POLICY} \n    max_stepz: 3\n"),
            ("config.yml", f"{POLICY}\n", f"{POLICY}\n    max_tokens: 0\n"),
        ],
        {POLICY, "max_stepz", "max_tokens"},
    ),
    "a key that stands too far out, and its value": (
        [
            (AGENT, "  llm:\n    model_group: agents\n", ""),
            (AGENT, "agent:\n", "llm: {model_group: agentz}\nagent:\n"),
        ],
        {"llm", "model_group"},
    ),
    "agents of one name and a misspelt call": (
        [
            (ADVISER, "name: advisor_booking", "name: risk_report"),
            ("flows/explore_stocks.yml", "call: stock_explorer", "call: stock_explorr"),
        ],
        {"name", "stock_explorr"},
    ),
    "a value of an agent and the name of another": (
        [
            ("config.yml", "push_url: true # the sample", "push_url: sure # the sample"),
            ("config.yml", "risk_report:", "risk_reprot:"),
        ],
        {"allow_private_push_url", "risk_reprot"},
    ),
    "a value and a key of the section in the endpoints": (
        [
            (
                "endpoints.yml",
                "mcp_servers:",
                "rasa_react_ext:\n  trace_content: long\n  storre: x\nmcp_servers:",
            )
        ],
        {"trace_content", "storre"},
    ),
    "a time zone and the name of a tool": (
        [
            (ADVISER, "Europe/Berlin", "Europe/Berlinn"),
            (ADVISER, "- find_advisers", "- find_advisrs"),
        ],
        {"timezone", "find_advisrs"},
    ),
    "a template and the name of a tool": (
        [
            (ADVISER, *template("none.jinja2")),
            (ADVISER, "- find_advisers", "- find_adviser"),
        ],
        {"prompt_template", "find_adviser"},
    ),
    "a misspelt section and a model group": (
        [
            ("endpoints.yml", "mcp_servers:", "mcp_server:"),
            (AGENT, "model_group: agents", "model_group: agentz"),
        ],
        {"mcp_server", "model_group"},
    ),
    "servers and groups that are no lists, and our section": (
        [
            ("endpoints.yml", "mcp_servers:", "mcp_servers: none\nothers:"),
            (
                "endpoints.yml",
                "model_groups:",
                "rasa_react_ext:\n  trace_foldr: a\nmodel_groups: none\nmore:",
            ),
        ],
        {"mcp_servers", "model_groups", "trace_foldr"},
    ),
    "policies that are no list, an action and our section": (
        [
            ("config.yml", "policies:", "policies: none\nothers:"),
            ("flows/opening_hours.yml", "utter_opening_hours", "utter_openin_hours"),
            ("endpoints.yml", "mcp_servers:", "rasa_react_ext: {storre: x}\nmcp_servers:"),
        ],
        {"policies", "utter_openin_hours", "storre"},
    ),
    "a pipeline that is no list, our policy and an action": (
        [
            ("config.yml", "pipeline:", "pipeline: none\nothers:"),
            ("config.yml", "push_url: true # the sample", "push_url: sure # the sample"),
            ("flows/opening_hours.yml", "utter_opening_hours", "utter_openin_hours"),
        ],
        {"pipeline", "allow_private_push_url", "utter_openin_hours"},
    ),
    "a call of nobody and an action": (
        [
            ("flows/explore_stocks.yml", "call: stock_explorer", "call: stock_explorr"),
            ("flows/opening_hours.yml", "utter_opening_hours", "utter_openin_hours"),
        ],
        {"stock_explorr", "utter_openin_hours"},
    ),
}
"""Edits, and the last part of each key that must be named."""


@pytest.mark.parametrize("name", HIDING)
def test_no_mistake_hides_another(name: str, sample: Path, edit: Edit) -> None:
    edits, keys = HIDING[name]
    for file, old, new in edits:
        edit(file, old, new)
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        inspection = asyncio.run(inspect_project(domain="domain.yml", data=["flows"]))
    found = inspection.findings
    assert {finding.key.split(": ")[-1] for finding in found} == keys
