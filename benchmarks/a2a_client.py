"""`python -m benchmarks.a2a_client`: one turn with a remote agent, and accepted reports.

A turn is measured three ways in the same run, taking turns: a bare call of the SDK's
client with the same message, our external agent, and the host's. Reports are sent to our
callback route and to a bare route of the same server that commits one row.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from benchmarks.process import first_line, started

Call = Callable[[], Awaitable[None]]
_TARGETS = {"bare": 1.3, "host": 0.8}
_SENDERS = 16


async def main(turns: int, reports: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        log = Path(folder) / "remote.log"
        for streaming in ("streamed", "asked"):
            with started("-m", "benchmarks.a2a_client", "remote", streaming, log=log) as remote:
                url = await asyncio.to_thread(first_line, remote, log)
                await _turns(streaming, url, turns)
        with started("-m", "benchmarks.a2a_client", "server", folder, log=log) as server:
            url = ""
            while not url.startswith("http"):  # the host says other things first
                url = await asyncio.to_thread(first_line, server, log)
            await _reports(url, reports)


async def _turns(kind: str, card_url: str, count: int) -> None:
    calls, close = await _callers(card_url)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(count + 20):
        for name, call in calls.items():
            began = time.perf_counter()
            await call()
            if number >= 20:
                seconds[name].append(time.perf_counter() - began)
    await close()
    medians = {name: statistics.median(found) * 1000 for name, found in seconds.items()}
    print(f"\none turn, {kind}, {count} of each, median")
    for name, median in medians.items():
        against = ""
        if name in _TARGETS:
            ratio = medians["ours"] / median
            against = f"   ours takes {ratio:.2f} x (target: at most {_TARGETS[name]})"
        print(f"  {name:5} {median:7.2f} ms{against}")


async def _callers(card_url: str) -> tuple[Mapping[str, Call], Call]:
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.types import SendMessageRequest
    from rasa.utils.log_utils import configure_structlog

    from rasa_react_ext.a2a_wire import outbound_message

    configure_structlog(logging.WARNING)
    ours, host = await _agents(card_url)
    http = httpx.AsyncClient(timeout=30)
    card = await A2ACardResolver(http, card_url.partition("/.well")[0]).get_agent_card()
    client = ClientFactory(ClientConfig(httpx_client=http)).create(card)

    async def bare() -> None:
        message = outbound_message(
            "hello",
            slots={"size": "L"},
            metadata={"sender_id": "anna", "context_id": "anna"},
            context_id="anna",
        )
        async for _ in client.send_message(SendMessageRequest(message=message)):
            pass

    async def close() -> None:
        await ours.disconnect()
        await http.aclose()

    return {"bare": bare, "ours": _turn(ours), "host": _turn(host)}, close


async def _agents(card_url: str) -> tuple[Any, Any]:
    """Ours and the host's, of one configuration."""
    from rasa.agents.protocol.a2a.a2a_agent import A2AAgent
    from rasa.core.available_agents import (
        AgentConfig,
        AgentConfiguration,
        AgentInfo,
        ProtocolConfig,
    )

    from rasa_react_ext.host.external.build import build_external_agents
    from rasa_react_ext.host.settings import Settings

    config = AgentConfig(
        agent=AgentInfo(name="remote", protocol=ProtocolConfig.A2A, description="remote"),
        configuration=AgentConfiguration(agent_card=card_url),
    )
    (ours,) = build_external_agents({"remote": config}, None, Settings()).values()
    host: Any = A2AAgent.from_config(config)
    await host.connect()
    return ours, host


def _turn(agent: Any) -> Call:
    from rasa.agents.agent_manager import AgentManager
    from rasa.agents.core.types import ProtocolType
    from rasa.core.channels import CollectingOutputChannel

    from rasa_react_ext.host.build import register

    async def call() -> None:
        register({("remote", ProtocolType.A2A): agent})
        output = await AgentManager().run_agent(
            "remote", ProtocolType.A2A, _agent_input(), CollectingOutputChannel()
        )
        assert output.response_message == "Done.", output

    return call


def _agent_input() -> Any:
    from rasa.agents.schemas import AgentInput
    from rasa.agents.schemas.agent_input import AgentInputSlot
    from rasa.shared.core.events import BotUttered, UserUttered

    events = [event for n in range(10) for event in (UserUttered(f"u{n}"), BotUttered(f"b{n}"))]
    return AgentInput(
        id="remote",
        user_message="hello",
        slots=[AgentInputSlot(name="size", value="L", type="text")],
        conversation_history="USER: hello",
        events=events,
        metadata={"sender_id": "anna", "context_id": "anna"},
        recipient_id="anna",
    )


async def _reports(url: str, count: int) -> None:
    """Alternating batches, so that both routes see the same machine."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    routes = {"bare": "webhooks/bare", "ours": "webhooks/task_updates/ours"}
    async with httpx.AsyncClient(timeout=30) as http:
        for batch in range(6):
            for name, route in routes.items():
                rate = await _rate(http, f"{url}/{route}", count, batch)
                if batch:
                    rates[name].append(rate)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    share = medians["ours"] / medians["bare"]
    print(f"\naccepted reports per second, {_SENDERS} senders, SQLite")
    print(f"  bare route {medians['bare']:7.0f}\n  our route  {medians['ours']:7.0f}", end="")
    print(f"   {share:.2f} of the bare one (target: at least 0.5)")


async def _rate(http: httpx.AsyncClient, url: str, count: int, batch: int) -> float:
    left = iter(range(count))

    async def send() -> None:
        for number in left:
            status = {"state": "TASK_STATE_WORKING", "message": {"messageId": f"{batch}-{number}"}}
            body = {"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}
            answer = await http.post(url, json=body, headers={"X-A2A-Notification-Token": "s"})
            assert answer.status_code == 202, answer

    began = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(_SENDERS)))
    return count / (time.perf_counter() - began)


def remote(streaming: bool) -> None:
    """An agent that answers at once."""
    import uvicorn
    from a2a.helpers import new_task_from_user_message, new_text_part
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface
    from starlette.applications import Starlette

    class Executor(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            task = new_task_from_user_message(context.message)
            task.id, task.context_id = context.task_id, context.context_id
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, context.task_id, context.context_id)
            await updater.start_work()
            await updater.complete(updater.new_agent_message([new_text_part("Done.")]))

        async def cancel(self, context: Any, event_queue: Any) -> None:
            raise NotImplementedError

    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    interface = AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
    card = AgentCard(
        name="remote",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=streaming),
    )
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), card)
    app = Starlette(
        routes=[*create_jsonrpc_routes(handler, "/rpc"), *create_agent_card_routes(card)]
    )
    print(f"{url}/.well-known/agent-card.json", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical")


async def server(folder: Path) -> None:
    """The host's server with our channel, and beside it a route that commits one row."""
    from rasa.core.run import configure_app
    from sanic.response import empty

    from rasa_react_ext.channels import TaskUpdates
    from rasa_react_ext.host import process
    from rasa_react_ext.host.external import ledger
    from rasa_react_ext.host.settings import read_settings
    from rasa_react_ext.store import JournalEntry, RemoteTask, secret_hash

    section = {"store": str(folder / "store.db")}
    process.current().configure(read_settings({}, section))
    row = RemoteTask(
        key="ours", conversation="c", agent="a", secret_hash=secret_hash("s"), background=True
    )
    await ledger.tasks().add(row)
    # Nobody applies the reports here: accepting them is what is measured.
    await ledger.tasks().claim("nobody", 3600, 1)
    async with process.current().database.transaction() as connection:
        await connection.exec_driver_sql(
            "UPDATE rasa_react_ext_remote_task SET claimed_until = 9e12"
        )
    app = configure_app([TaskUpdates.from_credentials({})], enable_api=False)
    journal = process.current().journal

    @app.post("/webhooks/bare")
    async def bare(request: Any) -> Any:
        entry = JournalEntry(turn=str(request.json["statusUpdate"]["taskId"]), call_key="k")
        await journal.write("c", "a", entry)
        return empty(202)

    port = _free_port()
    running = await app.create_server(
        "127.0.0.1", port, return_asyncio_server=True, access_log=False
    )
    assert running is not None
    await running.startup()
    await running.before_start()
    await running.after_start()
    print(f"http://127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.a2a_client", description=__doc__)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--reports", type=int, default=1000)
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["remote"]:
        remote(sys.argv[2] == "streamed")
    elif sys.argv[1:2] == ["server"]:
        asyncio.run(server(Path(sys.argv[2])))
    else:
        given = _arguments()
        asyncio.run(main(given.turns, given.reports))
