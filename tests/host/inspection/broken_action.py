"""Mistakes around actions that run inside the assistant."""

from __future__ import annotations

from tests.host.inspection.mistake import Broken

DECLARED = "  - action_sub_agent_status\n"

ACTIONS = {
    "a misspelt module of actions": Broken(
        file="endpoints.yml",
        old="actions_module: actions",
        new="actions_module: acions",
        line="acions",
        key="action_endpoint: actions_module",
        problem="no module 'acions'",
        fix="'actions'",
    ),
    "a module of actions in a package that is not there": Broken(
        file="endpoints.yml",
        old="actions_module: actions",
        new="actions_module: nowhere.at.all",
        line="nowhere.at.all",
        key="action_endpoint: actions_module",
        problem="no module 'nowhere.at.all'",
        fix="such as actions",
    ),
    "a module of actions that is no name": Broken(
        file="endpoints.yml",
        old="actions_module: actions",
        new="actions_module: 3",
        line="actions_module: 3",
        key="action_endpoint: actions_module",
        problem="must be a text",
        fix="Write a text",
    ),
    "a misspelt key of the endpoint of actions": Broken(
        file="endpoints.yml",
        old="actions_module: actions",
        new="action_module: actions",
        line="action_module",
        key="action_endpoint: action_module",
        problem="unknown",
        fix="'actions_module'",
    ),
    "an action of the domain that no class provides": Broken(
        file="domain.yml",
        old=DECLARED,
        new=f"{DECLARED}  - action_water_flowers\n",
        line="action_water_flowers",
        key="actions: action_water_flowers",
        problem="no class in 'actions' provides the action 'action_water_flowers'",
        fix="whose name() returns 'action_water_flowers'",
        level="warning",
    ),
    "an action that a slot runs and no class provides": Broken(
        file="domain.yml",
        old=f"\nactions:\n{DECLARED}",
        new="""
  garden:
    type: bool
    mappings:
      - type: controlled
        run_action_every_turn: action_look_outside

actions:
  - action_sub_agent_status
  - action_look_outside
""",
        line="- action_look_outside",
        key="actions: action_look_outside",
        problem="which the conversation runs",
        fix="Write a class",
    ),
    "a misspelt action that wants the domain": Broken(
        file="domain.yml",
        old=DECLARED,
        new=f"{DECLARED}  - action_sub_agent_state: {{send_domain: true}}\n",
        line="action_sub_agent_state:",
        key="actions: action_sub_agent_state",
        problem="provides the action 'action_sub_agent_state'",
        fix="'action_sub_agent_status'",
        level="warning",
    ),
}
