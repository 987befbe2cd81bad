"""Files and parts that hold something of another form than is needed."""

from __future__ import annotations

from tests.host.inspection.mistake import AGENT, BOOKING, FLOW, Broken

_POLICIES = "policies:\n  - name: FlowPolicy"
_SERVER = "  - name: market\n    url: ${WEALTH_DESK_MARKET_URL}\n    type: http\n"
_OF_AGENT = """    - name: market
      # Whatever else the server offers is for this agent, also tools added later.
      exclude_tools:
        - place_buy_order
        - view_positions
        - find_advisers
"""

FORMS = {
    "policies that are no list": Broken(
        file="config.yml",
        old=_POLICIES,
        new="policies: {FlowPolicy: 1}\nothers:\n  - name: FlowPolicy",
        line="policies:",
        key="policies",
        problem="must be a list",
        fix="after a dash",
    ),
    "a pipeline that is no list": Broken(
        file="config.yml",
        old="pipeline:",
        new="pipeline: commands\nothers:",
        line="pipeline:",
        key="pipeline",
        problem="must be a list",
        fix="after a dash",
    ),
    "MCP servers that are no list": Broken(
        file="endpoints.yml",
        old=f"mcp_servers:\n{_SERVER}",
        new="mcp_servers: {market: http}\n",
        line="mcp_servers:",
        key="mcp_servers",
        problem="must be a list",
        fix="after a dash",
    ),
    "model groups that are no list": Broken(
        file="endpoints.yml",
        old="model_groups:\n",
        new="model_groups: {agents: openai}\nothers:\n",
        line="model_groups:",
        key="model_groups",
        problem="must be a list",
        fix="after a dash",
    ),
    "a section of ours that is a list": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext: [x]\nmcp_servers:",
        line="rasa_react_ext:",
        key="rasa_react_ext",
        problem="must hold keys",
        fix="agents:",
    ),
    "exit conditions that are no list": Broken(
        file=BOOKING,
        old="exit_if:\n          - slots.advisor_topic is not null\n          - slots.investment",
        new="exit_if: slots.advisor_topic is not null and slots.investment",
        line="exit_if:",
        key="steps: 0: exit_if",
        problem="expected a list",
        fix="Write a list of conditions: one entry per line, each after a dash.",
    ),
    "a description that is a list": Broken(
        file=FLOW,
        old="    name: opening hours\n",
        new="    name: [opening hours]\n",
        line="name:",
        key="opening_hours: name",
        problem="expected a string",
        fix="Write a text",
    ),
    "MCP servers of an agent that are no list": Broken(
        file=AGENT,
        old=_OF_AGENT,
        new="    a: b\n",
        line="mcp_servers:",
        key="connections: mcp_servers",
        problem="must be a list",
        fix="after a dash",
    ),
}
