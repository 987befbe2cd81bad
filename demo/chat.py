"""`python -m demo.chat`: talk to the sample assistant in the terminal.

With OPENAI_API_KEY (and OPENAI_BASE_URL for another server) a real model answers, else the
scripted one, which understands the sentences it lists. Then it is the conversation of
`rasa-react chat`, with the sample's servers and the host's own beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

from rich.console import Console

from demo.backend import SCRIPTS, Model, scripted_model
from demo.conversation import read_conversation
from demo.failure import DemoError
from demo.screen import Screen, host_output
from demo.stage import staged_assistant
from rasa_react_ext.cli.screen import Screen as View
from rasa_react_ext.cli.talk import converse, typed_lines
from rasa_react_ext.errors import ExtensionError

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal import Terminal

__all__ = ["main", "real_model"]

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
            asyncio.run(_talk(screen, model))
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


async def _talk(screen: Screen, model: Model) -> None:
    view = View(Console(file=screen.stream, highlight=False))

    @functools.cache
    def seat() -> Terminal:
        from rasa_react_ext.host.terminal import Terminal

        return Terminal(view)

    async with staged_assistant(screen, model, seat=seat) as assistant:
        from rasa_react_ext.host.terminal import conversing

        async with conversing(
            assistant.agent, seat(), "customer", assistant.take_errors
        ) as session:
            await converse(session, view, typed_lines(), typed=sys.stdin.isatty())


if __name__ == "__main__":
    raise SystemExit(main())
