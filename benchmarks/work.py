"""The measurements that a measuring process can make; each gives plain numbers."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from rasa.shared.core.events import (
    ActionExecuted,
    BotUttered,
    Event,
    SlotSet,
    UserUttered,
)

from benchmarks import engine, script

__all__ = ["WORK", "Bench"]

Numbers = Mapping[str, float]


class Bench:
    """One engine in this process, with the agent that most measurements use.

    Args:
        name: `host` or `ours`.
        servers: Addresses of the MCP servers by name; `tools` is the fast one.
    """

    def __init__(self, name: str, servers: Mapping[str, str]) -> None:
        self._name = name
        self._servers = servers
        self._agent: Any = None

    async def open(self) -> Numbers:
        """Build the agent and take turns until nothing is done for the first time."""
        (self._agent,) = await engine.start(self._name, [engine.agent_config("bench", ["tools"])])
        for task in (script.TALK, script.one_tool(), script.one_tool()):
            await engine.take_turn(self._agent, task)
        return {}

    async def close(self) -> Numbers:
        """Disconnect."""
        await self._agent.disconnect()
        return {}

    async def parallel(self, *, tools: int, turns: int) -> Numbers:
        """One answer with several independent tools."""
        return await self._turns(script.parallel(tools), turns)

    async def chain(self, *, steps: int, turns: int) -> Numbers:
        """Tools one after the other; numbers are per step."""
        taken = await self._turns(script.chain(steps), turns)
        return {key: value / steps for key, value in taken.items()}

    async def reading(self, *, steps: int, turns: int) -> Numbers:
        """The same with a tool that declares itself read-only."""
        taken = await self._turns(script.reading(steps), turns)
        return {key: value / steps for key, value in taken.items()}

    async def history(self, *, events: int, turns: int) -> Numbers:
        """A turn without tools in a conversation of some length."""
        return await self._turns(script.TALK, turns, conversation(events))

    async def _turns(self, task: script.Task, turns: int, events: Sequence[Event] = ()) -> Numbers:
        inputs = [engine.agent_input(self._agent, task, events) for _ in range(turns)]
        taken = [await engine.take_turn(self._agent, task, given) for given in inputs]
        return {
            "wall_ms": statistics.median(turn.wall_ms for turn in taken),
            "cpu_ms": statistics.median(turn.cpu_ms for turn in taken),
        }

    async def load(self, *, turns: int) -> Numbers:
        """Turns of as many conversations at once, each with one tool."""
        gc.collect()
        _reset_peak()
        before = _memory_kb("VmRSS")
        wall, cpu = time.perf_counter(), time.process_time()
        task = script.one_tool()
        await asyncio.gather(*(engine.take_turn(self._agent, task) for _ in range(turns)))
        return {
            "wall_ms": (time.perf_counter() - wall) * 1000,
            "cpu_ms": (time.process_time() - cpu) * 1000,
            "memory_mb": (_memory_kb("VmHWM") - before) / 1024,
        }

    async def start(self, *, agents: int) -> Numbers:
        """From nothing to one finished call of every agent on every slow server."""
        names = [name for name in self._servers if name != "tools"]
        before = await self._sessions(names)
        configs = [engine.agent_config(f"agent_{number}", names) for number in range(agents)]
        wall, cpu = time.perf_counter(), time.process_time()
        started = await engine.start(self._name, configs)
        task = script.every_server(len(names))
        await asyncio.gather(*(engine.take_turn(agent, task) for agent in started))
        numbers = {
            "wall_ms": (time.perf_counter() - wall) * 1000,
            "cpu_ms": (time.process_time() - cpu) * 1000,
            "sessions": await self._sessions(names) - before,
        }
        for agent in started:
            await agent.disconnect()
        return numbers

    async def _sessions(self, names: Sequence[str]) -> int:
        async with httpx.AsyncClient() as client:
            urls = [self._servers[name].removesuffix("/mcp") + "/sessions" for name in names]
            return sum([(await client.get(url)).json()["open"] for url in urls])


WORK: Mapping[str, Callable[..., Awaitable[Numbers]]] = {
    "open": Bench.open,
    "close": Bench.close,
    "parallel": Bench.parallel,
    "chain": Bench.chain,
    "reading": Bench.reading,
    "history": Bench.history,
    "load": Bench.load,
    "start": Bench.start,
}


def conversation(length: int) -> list[Event]:
    """Events as a conversation leaves them behind, about two words in seven events."""
    events: list[Event] = []
    while len(events) < length:
        number = len(events)
        events += [
            UserUttered(f"question {number}"),
            SlotSet("topic", f"value {number}"),
            ActionExecuted("action_run_slot_rejections"),
            SlotSet("flow_hashes", number),
            ActionExecuted("utter_answer"),
            BotUttered(f"answer {number}"),
            ActionExecuted("action_listen"),
        ]
    return events[-length:] if length else []


def _memory_kb(key: str) -> int:
    """A line of /proc/self/status, in KiB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise LookupError(key)


def _reset_peak() -> None:
    """Let the kernel forget the highest memory use so far (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
