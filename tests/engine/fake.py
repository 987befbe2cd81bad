"""Fakes of the engine's ports, and a loop whose time jumps instead of passing.

No test of the engine waits: when nothing is ready, the loop's clock moves on to the
next timer. A turn in which nothing would ever happen again fails at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from rasa_react_ext.engine.budget import Budget
from rasa_react_ext.engine.decision import CallDone, Rules, Run
from rasa_react_ext.engine.driver import Driver
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import (
    Message,
    ModelAnswer,
    ModelRequest,
    TokenUsage,
    ToolCall,
)
from rasa_react_ext.engine.occurrence import Occurrence
from rasa_react_ext.engine.port import TextSink
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.errors import ModelError

T = TypeVar("T")
WORDS = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
}


def tool(name: str, **more: Any) -> Tool:
    return Tool(name=name, description=f"Does {name}.", parameters=WORDS, **more)


def call(name: str, arguments: Any = None, id: str = "", **extra: Any) -> ToolCall:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(id=id or f"id_{name}", name=name, arguments=raw, extra=extra)


def answer(text: str = "", *calls: ToolCall, **more: Any) -> ModelAnswer:
    reason = "tool_calls" if calls else "stop"
    return ModelAnswer(text=text, calls=calls, **{"finish_reason": reason, "model": "m", **more})


def usage(total: int) -> TokenUsage:
    return TokenUsage(prompt=total, completion=0)


def away(kind: str = "unavailable", after: float | None = None) -> ModelError:
    return ModelError("m", "It broke.", kind=kind, retry_after_seconds=after)


def ok(text: str = "found") -> ToolResult:
    return ToolResult(text=text)


def bad(text: str = "broken") -> ToolResult:
    return ToolResult(text=text, is_error=True)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when nothing is ready."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        wait = self._selector.select  # pyright: ignore[reportAttributeAccessIssue]

        def select(timeout: float | None) -> Any:
            events = wait(0)
            if not events and timeout is None:
                raise AssertionError("Nothing would ever happen again.")
            self._now += 0.0 if events or not timeout else timeout
            return events

        self._selector.select = select  # pyright: ignore[reportAttributeAccessIssue]

    def time(self) -> float:
        return self._now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end in jumping time; no task may be left."""

    async def whole() -> T:
        result = await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        return result

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(whole())


class Clock:
    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@dataclass
class Reply:
    """An answer, or a fault, of the model after some seconds and some streamed pieces."""

    answer: ModelAnswer | ModelError
    after: float = 0.0
    pieces: Sequence[str] = ()


@dataclass
class Model:
    """Answers by a list; the last answer comes again and again."""

    replies: list[Reply]
    requests: list[ModelRequest] = field(default_factory=list)
    streams: bool = True

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelAnswer:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        pieces = reply.pieces or [getattr(reply.answer, "text", "")]
        if sink is not None and self.streams:
            for piece in pieces:
                await sink(piece)
        await anyio.sleep(reply.after)
        if isinstance(reply.answer, ModelError):
            raise reply.answer
        return reply.answer


Behaviour = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]


@dataclass
class Tools:
    """A tool source; `behaviour` by tool name, `ok()` for the rest."""

    listed: Sequence[Tool] = ()
    behaviour: dict[str, Behaviour] = field(default_factory=dict)
    away: Sequence[str] = ()
    calls: list[tuple[str, Mapping[str, Any], CallContext]] = field(default_factory=list)
    running: int = 0
    most: int = 0

    async def tools(self) -> Sequence[Tool]:
        return self.listed

    def missing(self) -> Sequence[str]:
        return self.away

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        self.calls.append((tool.name, arguments, context))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            behaviour = self.behaviour.get(tool.name)
            return await behaviour(arguments) if behaviour else ok(f"{tool.name}: {arguments}")
        finally:
            self.running -= 1


def after(seconds: float, result: ToolResult | None = None) -> Behaviour:
    async def behave(_arguments: Mapping[str, Any]) -> ToolResult:
        await anyio.sleep(seconds)
        return result or ok()

    return behave


async def never(*_arguments: Any, **_named: Any) -> Any:
    await anyio.sleep_forever()


@dataclass
class Stream:
    seen: list[str]
    text: str = ""

    async def write(self, delta: str) -> None:
        self.text += delta

    async def close(self, *, interrupted: bool = False) -> None:
        if self.text:
            self.seen.append(f"{self.text}~" if interrupted else self.text)
        self.text = ""


Hook = Callable[[Sequence[CallDone]], Awaitable[Mapping[str, Any]]]


@dataclass
class Conversation:
    """The host's side; `seen` is what the user saw, in order."""

    spoken: list[Message] = field(
        default_factory=lambda: [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello"},
        ]
    )
    built_in: Sequence[str] = ("task_completed",)
    streaming: bool = False
    hook: Hook | None = None
    seen: list[str] = field(default_factory=list)
    reviewed: list[list[str]] = field(default_factory=list)
    slots: Mapping[str, Any] = field(default_factory=dict)

    def messages(self, slots: Mapping[str, Any]) -> Sequence[Message]:
        self.slots = slots
        return self.spoken

    def offered(self, tools: Sequence[Tool]) -> Sequence[Mapping[str, Any]]:
        built_in = [tool(name).definition() for name in self.built_in]
        return [*(one.definition() for one in tools), *built_in]

    def closing_instruction(self) -> str:
        return "Say goodbye."

    def stream(self) -> Stream | None:
        return Stream(self.seen) if self.streaming else None

    async def send(self, text: str, kind: str) -> None:
        await anyio.lowlevel.checkpoint()
        self.seen.append(text)

    async def review(self, calls: Sequence[CallDone]) -> Mapping[str, Any]:
        self.reviewed.append([one.planned.name for one in calls])
        return await self.hook(calls) if self.hook else {}


@dataclass
class Log:
    """An observer that keeps everything."""

    heard: list[Occurrence] = field(default_factory=list)

    def on(self, occurrence: Occurrence) -> None:
        self.heard.append(occurrence)

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.heard if isinstance(one, kind)]

    def names(self) -> list[str]:
        return [type(one).__name__ for one in self.heard]


@dataclass
class Turn:
    """One turn with all its fakes; `play` drives it to its end."""

    driver: Driver
    model: Model
    tools: Tools
    talk: Conversation
    log: Log

    def play(self) -> Any:
        return run(self.driver.drive())


def turn(
    *replies: Reply | ModelAnswer | ModelError,
    tools: Tools | None = None,
    talk: Conversation | None = None,
    rules: Rules | None = None,
    memory: Memory | None = None,
    slots: Mapping[str, Any] | None = None,
    **budget: Any,
) -> Turn:
    model = Model([r if isinstance(r, Reply) else Reply(r) for r in replies])
    tools = tools or Tools([tool("look"), tool("book")])
    talk = talk or Conversation()
    log = Log()
    driver = Driver(
        run=Run(rules=rules or Rules(completes="task_completed"), slots=slots or {}),
        conversation=talk,
        model=model,
        source=tools,
        observer=log,
        clock=Clock(),
        budget=Budget(**{"deadline": 60.0, "closing_seconds": 5.0, **budget}),
        memory=memory or Memory(),
    )
    return Turn(driver=driver, model=model, tools=tools, talk=talk, log=log)
