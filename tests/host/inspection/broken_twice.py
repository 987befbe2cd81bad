"""What is there twice."""

from __future__ import annotations

from tests.host.inspection.mistake import AGENT, POLICY, Broken

SERVER = "  - name: market\n    url: ${WEALTH_DESK_MARKET_URL}\n    type: http\n"

TWICE = {
    "a section of the endpoints twice": Broken(
        file="endpoints.yml",
        old="\naction_endpoint:",
        new="\nmcp_servers:\n  - {name: two, url: 'http://127.0.0.1:9/', type: http} # two\n"
        "action_endpoint:",
        line="mcp_servers:",
        key="mcp_servers",
        problem="a second time; the first is in line 20",
        fix="Put what belongs together",
    ),
    "a section of ours twice": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  agents: {stock_explorer: {max_steps: 4}}\n"
        "rasa_react_ext:\n  trace_folder: traces\nmcp_servers:",
        line="rasa_react_ext:",
        key="rasa_react_ext",
        problem="the first is in line 20",
        fix="remove the other",
    ),
    "a response of the domain twice": Broken(
        file="domain.yml",
        old="responses:\n",
        new="responses:\n  utter_greet:\n    - text: First.\n",
        line="utter_greet:",
        key="responses: utter_greet",
        problem="the first is in line 34",
        fix="remove the other",
    ),
    "a section of the domain twice": Broken(
        file="domain.yml",
        old="actions:\n",
        new="responses:\n  utter_first:\n    - text: First.\n\nactions:\n",
        line="responses:",
        key="responses",
        problem="the first is in line 30",
        fix="remove the other",
    ),
    "a flow twice in a file": Broken(
        file="flows/opening_hours.yml",
        old="flows:\n",
        new="flows:\n  opening_hours:\n    description: First.\n"
        "    steps:\n      - action: utter_greet\n",
        line="opening_hours:",
        key="flows: opening_hours",
        problem="the first is in line 2",
        fix="remove the other",
    ),
    "a flow in two files": Broken(
        file="flows/opening_hours.yml",
        old="  opening_hours:\n    name: opening hours\n",
        new="  explore_stocks:\n",
        line="explore_stocks:",
        key="flows: explore_stocks",
        problem="flows/explore_stocks.yml has a flow 'explore_stocks' as well",
        fix="another name",
    ),
    "a key of the policy twice": Broken(
        file="config.yml",
        old=POLICY,
        new=f"{POLICY}\n    max_steps: 4\n    max_steps: 5",
        line="max_steps: 5",
        key="max_steps",
        problem="a second time",
        fix="remove the other",
    ),
    "a section of the configuration twice": Broken(
        file="config.yml",
        old="pipeline:",
        new="policies:\n  - name: FlowPolicy\npipeline:",
        line="policies:",
        key="policies",
        problem="a second time",
        fix="remove the other",
    ),
    "a channel twice": Broken(
        file="credentials.yml",
        old="rest:",
        new="rest: {}\nrest:",
        line="rest:",
        key="rest",
        problem="a second time",
        fix="remove the other",
    ),
    "a key of an agent twice": Broken(
        file=AGENT,
        old="  timezone: Europe/Berlin\n",
        new="  timezone: Europe/Berlin\n  timezone: Europe/Paris\n",
        line="Europe/Paris",
        key="configuration: timezone",
        problem="a second time",
        fix="remove the other",
    ),
    "two agents of one name": Broken(
        file="sub_agents/risk_report/config.yml",
        old="name: risk_report",
        new="name: portfolio_report",
        line="name: portfolio_report",
        key="agent: name",
        problem="the agent of sub_agents/portfolio_report/config.yml is named 'portfolio_report'",
        fix="another name",
    ),
    "two MCP servers of one name": Broken(
        file="endpoints.yml",
        old=SERVER,
        new=SERVER + SERVER.replace("http\n", "http # again\n"),
        line="name: market",
        key="mcp_servers: market",
        problem="the first is in line 21",
        fix="another name",
    ),
    "two model groups of one name": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="  - id: agents\n    models: [{provider: openai, model: other}]\nmcp_servers:",
        line="id: agents",
        key="model_groups: agents",
        problem="the first is in line 11",
        fix="another name",
    ),
}
