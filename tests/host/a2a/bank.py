"""A bank's assistant for tests of the A2A server, served as the host serves it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tests.host.project import Project, hosts_own_warnings, loaded

__all__ = ["BANK_RULES", "bank", "served"]

DOMAIN = """
version: "3.1"
session_config:
  session_expiration_time: 60
  start_session_after_expiry: false
slots:
  recipient:
    type: text
    mappings: [{type: from_llm}]
  amount:
    type: float
    mappings: [{type: from_llm}]
  reference:
    type: text
    mappings: [{type: from_llm}]
  limit:
    type: float
    mappings: [{type: controlled}]
  size:
    type: text
    mappings: [{type: from_llm}]
responses:
  utter_ask_recipient: [{text: Who gets the money?}]
  utter_ask_amount:
    - text: How much?
      buttons:
        - {title: Ten, payload: "/SetSlots(amount=10)"}
        - {title: Twenty, payload: "/SetSlots(amount=20)"}
  utter_sent: [{text: "{amount} sent to {recipient}."}]
  utter_balance: [{text: You have 7 coins.}]
  utter_more: [{text: That is all.}]
  utter_bye: [{text: Come again.}]
actions:
  - action_break
"""

FLOWS = """
flows:
  transfer_money:
    name: transfer money
    description: The customer wants to send money to somebody.
    persisted_slots: [recipient, limit]
    steps:
      - collect: recipient
      - collect: amount
      - action: utter_sent
  show_balance:
    description: The customer wants to know how much they have.
    steps:
      - action: utter_balance
      - action: utter_more
  ask_clerk:
    description: The customer wants to talk to the clerk.
    steps:
      - call: clerk
      - action: utter_bye
  broken:
    description: The customer wants to see something break.
    steps:
      - action: action_break
  hidden:
    if: "False"
    description: Only other flows start this.
    steps:
      - action: utter_bye
"""


def _command(said: str, command: str) -> dict[str, Any]:
    return {
        "when": {"model": "commands", "user": rf'/last message: """{said}"""/'},
        "answer": command,
    }


BANK_RULES: tuple[dict[str, Any], ...] = (
    _command(r"start (?P<flow>\w+)", "start flow {{ flow }}"),
    _command(r"set (?P<slot>\w+) (?P<value>\w+)", "set slot {{ slot }} {{ value }}"),
    _command("stop", "cancel flow"),
    _command("gibberish", "no command at all"),
    {"when": {"model": "commands"}, "answer": "continue agent"},
)
"""What the command generator's model answers: `start FLOW`, `set SLOT VALUE`, `stop`."""


def bank(project: Project) -> Project:
    """The project as a bank."""
    return project.having(domain=DOMAIN, flows=FLOWS)


@contextlib.asynccontextmanager
async def served(
    project: Project,
    credentials: Mapping[str, Any] | None = None,
    *,
    channels: Sequence[Any] = (),
    port: int | None = None,
) -> AsyncIterator[tuple[str, Any]]:
    """The bank's assistant on a port of the host's own server.

    Args:
        project: The bank.
        credentials: The channel's entry, beside its description.
        channels: Further channels.
        port: The port; a free one by default.

    Yields:
        Base URL, and the host's application.
    """
    from rasa.core.run import configure_app
    from sanic import Sanic

    from rasa_react_ext.channels import A2AServer

    async with loaded(project) as agent:
        entry = {"description": "A small bank.", **(credentials or {})}
        Sanic._app_registry.clear()
        with hosts_own_warnings():
            channel = A2AServer.from_credentials(entry)
            app = configure_app(input_channels=[channel, *channels], enable_api=False)
        # It rewrites the server's own classes, which works once in a process.
        app.config.TOUCHUP = False
        app.ctx.agent = agent
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port or 0))
            port = listening.getsockname()[1]
            with hosts_own_warnings():
                server = await app.create_server(
                    sock=listening, return_asyncio_server=True, access_log=False
                )
                assert server is not None
                await server.startup()
                await server.before_start()
                await server.after_start()
            try:
                yield f"http://127.0.0.1:{port}", app
            finally:
                await server.before_stop()
                await _close(server)
                await server.after_stop()


async def _close(server: Any) -> None:
    closing = server.close()
    if closing is not None:
        await asyncio.wait_for(asyncio.shield(closing), 20)
    for connection in list(server.connections):
        connection.abort() if hasattr(connection, "abort") else connection.close()
    await asyncio.sleep(0)
