"""`python -m demo.chat`: talk to the sample assistant in the terminal.

With OPENAI_API_KEY (and OPENAI_BASE_URL for another server) a real model answers, else the
scripted one, which understands the sentences it lists. Ctrl-D or /stop ends the conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, TextIO

from anyio.from_thread import start_blocking_portal

from demo.backend import SCRIPTS, Model, scripted_model
from demo.conversation import read_conversation
from demo.failure import DemoError
from demo.screen import Screen, host_output
from demo.stage import customer_of, staged_assistant
from rasa_react_ext.assistant import LoadedAssistant
from rasa_react_ext.errors import ExtensionError
from rasa_react_ext.testing.transcript import Line, Transcript

__all__ = ["main", "real_model"]

STOP = "/stop"
LOOK_SECONDS = 0.3
REAL_URL = "https://api.openai.com/v1"
REAL_MODEL = "gpt-5.1-2025-11-13"


def main(arguments: list[str] | None = None) -> int:
    """Talk until the input ends.

    Args:
        arguments: Command line without the program's name; by default the process's own.

    Returns:
        Exit code: 0 after the end of the input or Ctrl-C, 1 when the assistant cannot start.
    """
    parser = argparse.ArgumentParser(prog="python -m demo.chat", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="show what the host writes")
    verbose = parser.parse_args(arguments).verbose
    screen, errors = Screen(), sys.stderr
    try:
        with host_output(shown=verbose), _model(screen) as model:
            _talk(screen, model, sys.stdin)
    except (DemoError, ExtensionError, OSError, TimeoutError) as failure:
        print(f"The chat failed. {failure}", file=errors)
        return 1
    except KeyboardInterrupt:
        screen.say()
    return 0


def real_model() -> Model | None:
    """Return the model that the environment names, or None without a key."""
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        return None
    return Model(
        url=os.environ.get("OPENAI_BASE_URL") or REAL_URL,
        api_key=key,
        commands=os.environ.get("WEALTH_DESK_COMMANDS_MODEL") or REAL_MODEL,
        agents=os.environ.get("WEALTH_DESK_AGENTS_MODEL") or REAL_MODEL,
    )


@contextlib.contextmanager
def _model(screen: Screen) -> Generator[Model, None, None]:
    """Choose the model and say which it is."""
    real = real_model()
    if real is not None:
        screen.say(f"The model is {real.agents} at {real.url}.", "bold")
        yield real
        return
    with scripted_model(SCRIPTS, SCRIPTS / "chat") as (scripted, _):
        screen.say("OPENAI_API_KEY is not set, so a scripted model answers. Try:", "bold")
        for turn in read_conversation():
            screen.say(f"  {turn.user}")
        yield scripted


def _talk(screen: Screen, model: Model, source: TextIO) -> None:
    """Read in this thread, let the assistant run in another: an interrupted read hangs nothing."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(staged_assistant(screen, model)) as assistant,
    ):
        screen.say(f"Ready. {STOP} or Ctrl-D ends the conversation.", "bold")
        talk = _Talk(screen, assistant, typed=source.isatty())
        portal.call(talk.say, "/session_start")
        listening = portal.start_task_soon(talk.listen)
        try:
            for text in _sentences(screen, source):
                portal.call(talk.say, text)
        finally:
            listening.cancel()


class _Talk:
    """The conversation on the screen.

    Args:
        screen: Where it is shown.
        assistant: Who answers.
        typed: Whether what the user says stands on the screen already.
    """

    def __init__(self, screen: Screen, assistant: LoadedAssistant, *, typed: bool) -> None:
        self._screen = screen
        self._assistant = assistant
        self._typed = typed
        self._customer = customer_of(assistant)
        self._transcript = Transcript()
        self._turn = asyncio.Lock()

    async def say(self, text: str) -> None:
        """Show a turn."""
        async with self._turn:
            # Shown here, since the host records no message that its busy guard answers.
            if not self._typed and not text.startswith("/"):
                self._screen.show([Line(kind="user", text=text)])
            self._show(await self._customer.say(text))

    async def listen(self) -> None:
        """Show what an agent in the background says between two turns."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            async with self._turn:
                if self._show(await self._customer.news()) and self._typed:
                    self._screen.ask()

    def _show(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Show events; tells whether there was something to see."""
        lines = [line for line in self._transcript.lines(events) if line.kind != "user"]
        self._screen.show(lines)
        for error in self._assistant.take_errors():
            self._screen.say(f"       Rasa reports: {error}", "red")
        return bool(lines)


def _sentences(screen: Screen, source: TextIO) -> Iterator[str]:
    """Yield what the user says, without empty lines, until the input ends."""
    while True:
        if source.isatty():
            screen.ask()
        line = source.readline()
        text = line.strip()
        if not line or text == STOP:
            return
        if text:
            yield text


if __name__ == "__main__":
    raise SystemExit(main())
