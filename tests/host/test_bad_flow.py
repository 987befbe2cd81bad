"""Flows, policies and external agents that do not fit together."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.shared.core.domain import Domain
from rasa.shared.core.flows.yaml_flows_io import YAMLFlowsReader

from rasa_react_ext.host.check import check_flows
from tests.host.project import DOMAIN, FLOWS, POLICY, Project, hosts_own_warnings, loaded
from tests.host.refused import log_of, logs, refused

pytestmark = pytest.mark.host


def agents(protocol: str = "RASA") -> dict[str, Any]:
    """The configuration of `clerk`, as the host reads it."""
    from rasa.core.available_agents import AgentConfig, AgentInfo, ProtocolConfig

    info = AgentInfo(name="clerk", protocol=ProtocolConfig(protocol), description="Serves.")
    return {"clerk": AgentConfig(agent=info)}


def check(flows: str = FLOWS, domain: str = DOMAIN, protocol: str = "RASA") -> None:
    """Check flows and domain as a load does."""
    with hosts_own_warnings():
        read = YAMLFlowsReader.read_from_string(flows)
        slots = Domain.from_yaml(domain)
    check_flows(read, slots, agents(protocol))


async def test_the_host_refuses_an_unknown_slot_in_exit_if_at_training(project: Project) -> None:
    from rasa.shared.core.flows.validation import InvalidExitIfConditionException

    flows = FLOWS.replace("slots.amount > 0", "slots.amountt > 0")
    with pytest.raises(InvalidExitIfConditionException, match=r"order_form.*'amountt'"):
        await project.having(flows=flows).train()


def test_a_load_refuses_an_unknown_slot_in_exit_if() -> None:
    with refused(file="flow 'order_form'", key="exit_if", says="the domain has no slot 'amount'"):
        check(domain=DOMAIN.replace("  amount:", "  sum:"))


def test_d1_an_external_agent_called_with_exit_if_is_refused() -> None:
    with refused(file="flow 'booking'", key="exit_if", says="has no exit conditions"):
        check(protocol="A2A")


def test_d3_4_an_exit_slot_that_nothing_can_fill_is_warned_about() -> None:
    flows = FLOWS.replace("slots.size is not null", "slots.desk is not null")
    with logs() as captured:
        check(flows)
    told = [log for log in captured if log["event"] == "rasa_react_ext.exit_if.slot_not_fillable"]
    assert {log["flow_id"] for log in told} == {"booking", "order_form"}
    assert "'desk'" in told[0]["event_info"]
    assert "'clerk'" in told[0]["event_info"]


async def test_d1_our_policy_without_flow_policy_is_refused(project: Project) -> None:
    alone = project.having(policies=({"name": POLICY},))
    with refused(file="config.yml", key="policies", says="Add `- name: FlowPolicy` beside it."):
        async with loaded(alone):
            pass


async def test_d1_a_second_policy_that_advances_flows_is_refused(project: Project) -> None:
    twice = project.having(
        policies=(
            {"name": "FlowPolicy"},
            {"name": "tests.host.user_policy.LoudFlowPolicy"},
            {"name": POLICY},
        )
    )
    with refused(file="config.yml", key="policies", says="FlowPolicy, LoudFlowPolicy would each"):
        async with loaded(twice):
            pass


async def test_d1_our_policy_twice_is_refused(project: Project) -> None:
    twice = project.having(policies=({"name": "FlowPolicy"}, {"name": POLICY}, {"name": POLICY}))
    with refused(file="config.yml", key="policies", says="ReActPolicy is there twice"):
        async with loaded(twice):
            pass


async def test_the_refusal_of_a_project_is_the_hosts_own_kind_and_is_logged(
    project: Project,
) -> None:
    from rasa.shared.exceptions import InvalidConfigException

    with logs() as captured, pytest.raises(InvalidConfigException):
        async with loaded(project.with_agent(timeout=-1)):
            pass
    told = log_of(captured, "load_agent.invalid_config")
    assert "sub_agents: clerk: config.yml: configuration: timeout" in told["event_info"]
