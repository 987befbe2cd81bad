"""Mistakes in how servers are really reached, and in what this one serves with."""

from __future__ import annotations

from tests.host.inspection.mistake import Broken

SERVERS = {
    "a store that cannot be written": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  store: domain.yml/x.db\nmcp_servers:",
        line="x.db",
        key="rasa_react_ext: store",
        problem="'domain.yml/x.db' cannot be written",
        fix="PostgreSQL",
    ),
    "a folder of records that cannot be written": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  trace_folder: domain.yml/traces\nmcp_servers:",
        line="traces",
        key="rasa_react_ext: trace_folder",
        problem="'domain.yml/traces' cannot be written",
        fix="folder that can be written",
    ),
    "a server whose program is not there": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  mcp_servers:\n    market: {transport: stdio, command: nosuchprog}\n"
        "mcp_servers:",
        line="nosuchprog",
        key="rasa_react_ext: mcp_servers: market: command",
        problem="no program 'nosuchprog'",
        fix="Install it",
    ),
    "a server whose program ends at once": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new='rasa_react_ext:\n  mcp_servers:\n    market: {transport: stdio, command: "false"}\n'
        "mcp_servers:",
        line="false",
        key="rasa_react_ext: mcp_servers: market: command",
        problem="cannot be reached",
        fix="correct its entry",
        level="warning",
    ),
    "a server that is down at its real address": Broken(
        file="endpoints.yml",
        old="mcp_servers:",
        new="rasa_react_ext:\n  mcp_servers:\n    market:\n      url: http://127.0.0.1:9/mcp\n"
        "mcp_servers:",
        line="127.0.0.1:9",
        key="rasa_react_ext: mcp_servers: market: url",
        problem="cannot be reached",
        fix="Start it",
        level="warning",
    ),
}
