"""The A2A server behind a scripted assistant, served in this loop, and clients for it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, Task
from a2a.utils.constants import TransportProtocol

from rasa_react_ext.a2a_server import (
    A2AService,
    Output,
    Profile,
    Result,
    Skill,
    Turn,
    read_settings,
)
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store import Database

__all__ = ["Bot", "Server", "client", "message", "rpc", "send", "server", "state_of", "task_of"]


@dataclass
class Bot:
    """An assistant that does what a message says, and remembers what it did.

    `hello` completes, `ask` asks, `wait NAME` waits for a gate, `tell NAME` speaks, speaks
    again at the gate `more NAME` and waits, `pieces` streams, `boom` breaks, `hang` heeds
    nothing, `background` leaves work behind.
    """

    runs: list[Turn] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    begun: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    at_once: Counter[str] = field(default_factory=Counter)
    most_at_once: int = 0
    interrupted: dict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )
    skills: tuple[Skill, ...] = (Skill(id="talk", name="talk", description="Talks."),)
    version: str = "model-1"

    async def profile(self) -> Profile:
        return Profile(name="bot", version=self.version, skills=self.skills)

    async def run(self, turn: Turn, output: Output) -> Result:
        self.runs.append(turn)
        self.at_once[turn.conversation] += 1
        self.most_at_once = max(self.most_at_once, self.at_once[turn.conversation])
        self.begun[turn.text].set()
        try:
            word, _, rest = turn.text.partition(" ")
            do: Callable[..., Awaitable[Result]] = getattr(self, f"_{word}")
            return await do(turn, output, rest)
        finally:
            self.at_once[turn.conversation] -= 1

    def interrupt(self, conversation: str) -> None:
        self.interrupted[conversation].set()

    async def leave(self, turn: Turn) -> Result:
        self.left.append(turn.conversation)
        return Result(state=State.CANCELED, text="Stopped.", data={"canceled_name": "flow"})

    async def _hello(self, turn: Turn, output: Output, rest: str) -> Result:
        await output.say("Hello.")
        return Result(state=State.COMPLETED, text="Hello.", data={"slots": {}})

    async def _ask(self, turn: Turn, output: Output, rest: str) -> Result:
        await output.say("Which?")
        return Result(state=State.INPUT_REQUIRED, text="Which?", data={"active_flow": "flow"})

    async def _wait(self, turn: Turn, output: Output, rest: str) -> Result:
        gate = asyncio.create_task(self.gates[rest].wait())
        stop = asyncio.create_task(self.interrupted[turn.conversation].wait())
        try:
            await asyncio.wait({gate, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gate.cancel()
            stop.cancel()
        return Result(state=State.COMPLETED if self.gates[rest].is_set() else State.INPUT_REQUIRED)

    async def _tell(self, turn: Turn, output: Output, rest: str) -> Result:
        await output.say("One moment.")
        await self.gates[f"more {rest}"].wait()
        await output.say("Looking.")
        return await self._wait(turn, output, rest)

    async def _hang(self, turn: Turn, output: Output, rest: str) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    async def _pieces(self, turn: Turn, output: Output, rest: str) -> Result:
        words = ["One ", "two ", "three."]
        artifact = str(uuid4())
        for index, word in enumerate(words):
            await output.piece(artifact, word, first=index == 0, last=index == len(words) - 1)
        await output.say("".join(words), artifact_id=artifact if turn.streaming else "")
        await output.say("Pick one.", data={"buttons": [{"title": "One"}]})
        return Result(state=State.COMPLETED, text="One two three.\n\nPick one.")

    async def _boom(self, turn: Turn, output: Output, rest: str) -> Result:
        raise RuntimeError("secret of the house")

    async def _background(self, turn: Turn, output: Output, rest: str) -> Result:
        return Result(state=State.WORKING, text="On it.")


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    service: A2AService
    bot: Bot


@contextlib.asynccontextmanager
async def server(
    store: str, bot: Bot | None = None, *, grace: float = 5.0, **settings: Any
) -> AsyncIterator[Server]:
    """Serve a bot on a free port while the block runs."""
    bot = bot or Bot()
    database = Database(store)
    service = A2AService(read_settings({"description": "A bot.", **settings}), database, bot)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(service.app, log_config=None, access_log=False, lifespan="off")
        web = _Web(config)
        try:
            async with service.serving(grace):
                serving = asyncio.create_task(web.serve(sockets=[listening]))
                try:
                    while not web.started:
                        await asyncio.sleep(0.005)
                    port = listening.getsockname()[1]
                    yield Server(f"http://127.0.0.1:{port}", service, bot)
                finally:
                    web.should_exit = True
                    web.force_exit = True
                    await serving
        finally:
            await database.aclose()


class _Web(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def client(
    url: str,
    transport: TransportProtocol = TransportProtocol.JSONRPC,
    *,
    version: str = "1.0",
    streaming: bool = True,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Client]:
    """The public client of the protocol package, for one binding and version."""
    async with httpx.AsyncClient(timeout=30, headers=headers) as http:
        from a2a.client import A2ACardResolver

        card = await A2ACardResolver(http, url).get_agent_card()
        kept = [
            interface
            for interface in card.supported_interfaces
            if (interface.protocol_binding, interface.protocol_version)
            == (transport.value, version)
        ]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_protocol_bindings=[transport]
        )
        async with ClientFactory(config).create(card) as made:
            yield made


def message(text: str, **ids: Any) -> Message:
    """A message of the user, with an id of its own."""
    made = Message(message_id=ids.pop("message_id", str(uuid4())), role=Role.ROLE_USER, **ids)
    made.parts.append(Part(text=text))
    return made


async def send(made: Client, text: str, **ids: Any) -> list[StreamResponse]:
    """All that a client gets for a message."""
    request = SendMessageRequest(message=message(text, **ids))
    return [event async for event in made.send_message(request)]


def task_of(events: list[StreamResponse]) -> Task:
    """The last task among events."""
    return [event.task for event in events if event.HasField("task")][-1]


def state_of(task: dict[str, Any]) -> str:
    """The short name of a task's state in JSON."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_").lower()


async def rpc(
    url: str,
    method: str,
    params: dict[str, Any],
    *,
    version: str | None = "1.0",
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """One JSON-RPC call: status and body."""
    sent = {"A2A-Version": version} if version else {}
    async with httpx.AsyncClient(timeout=30) as http:
        response = await http.post(
            url + "/",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={**sent, **(headers or {})},
        )
    return response.status_code, response.json()
