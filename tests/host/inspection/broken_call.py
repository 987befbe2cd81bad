"""Mistakes in steps that call a tool of a server without an agent."""

from __future__ import annotations

from tests.host.inspection.mistake import Broken

FLOW = "flows/opening_hours.yml"
ACTION = "      - action: utter_opening_hours\n"


def call(
    tool: str = "get_company_news",
    server: str = "market",
    inputs: str = "{param: symbol, slot: appointment_day}",
    output: str = "result.structuredContent.result",
) -> str:
    """The text of a flow's steps with such a call before its action."""
    return (
        f"      - call: {tool}\n"
        f"        mcp_server: {server}\n"
        "        mapping:\n"
        "          input:\n"
        + "".join(f"            - {entry}\n" for entry in inputs.split("; "))
        + "          output:\n"
        "            - slot: advisor_topic\n"
        f"              value: {output}\n{ACTION}"
    )


CALLS = {
    "a call of a tool that the server does not have": Broken(
        file=FLOW,
        old=ACTION,
        new=call(tool="get_company_newz"),
        line="call: get_company_newz",
        key="get_company_newz",
        problem="MCP server 'market' has no tool 'get_company_newz'",
        fix="'get_company_news'",
    ),
    "a call of a tool that is like none of the server": Broken(
        file=FLOW,
        old=ACTION,
        new=call(tool="zzz"),
        line="call: zzz",
        key="zzz",
        problem="no tool 'zzz'",
        fix="fetch_live_price",
    ),
    "a call of a tool of a server that is not there": Broken(
        file=FLOW,
        old=ACTION,
        new=call(server="markt"),
        line="mcp_server: markt",
        key="mcp_server",
        problem="no MCP server 'markt'",
        fix="'market'",
    ),
    "a misspelt parameter of a tool that is called": Broken(
        file=FLOW,
        old=ACTION,
        new=call(inputs="{param: symbool, slot: appointment_day}"),
        line="symbool",
        key="mapping: input: symbool",
        problem="no parameter 'symbool'",
        fix="'symbol'",
    ),
    "a parameter that a tool does not have": Broken(
        file=FLOW,
        old=ACTION,
        new=call(
            inputs="{param: symbol, slot: appointment_day}; {param: hour, slot: appointment_day}"
        ),
        line="hour",
        key="mapping: input: hour",
        problem="'get_company_news' has no parameter 'hour'",
        fix="limit, symbol",
    ),
    "a parameter that a tool needs and does not get": Broken(
        file=FLOW,
        old=ACTION,
        new=call(inputs="{param: limit, slot: appointment_day}"),
        line="input:",
        key="mapping: input: symbol",
        problem="needs the parameter 'symbol'",
        fix="Add it",
    ),
    "a part of a tool's result that is not there": Broken(
        file=FLOW,
        old=ACTION,
        new=call(output="result.structuredContnt.result"),
        line="structuredContnt",
        key="mapping: output: advisor_topic",
        problem="no 'structuredContnt'",
        fix="'structuredContent'",
    ),
    "a value of a tool's result that it does not promise": Broken(
        file=FLOW,
        old=ACTION,
        new=call("fetch_live_price", output="result.structuredContent.prize"),
        line="prize",
        key="mapping: output: advisor_topic",
        problem="promises no 'prize'",
        fix="'price'",
    ),
    "a mapping of a result that is no expression": Broken(
        file=FLOW,
        old=ACTION,
        new=call(output="result.structuredContent.("),
        line="structuredContent.(",
        key="mapping: output: advisor_topic",
        problem="is no expression",
        fix="syntax",
    ),
    "a mapping of something that is no result": Broken(
        file=FLOW,
        old=ACTION,
        new=call(output="answer.price"),
        line="answer.price",
        key="mapping: output: advisor_topic",
        problem="no 'answer'",
        fix="result.structuredContent",
    ),
}
