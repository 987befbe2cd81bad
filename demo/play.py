"""`python -m demo.play`: train the sample and play a whole conversation over all its agents.

Needs no key and no network. Ends by itself; exit code 1 and one line when anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from demo.backend import SCRIPTS, scripted_model
from demo.conversation import CONVERSATION, Turn, awaits_more, check_turn, read_conversation
from demo.failure import DemoError
from demo.reports import Gate, House
from demo.screen import Screen, host_output
from demo.stage import customer_of, staged_assistant
from rasa_react_ext.assistant import Conversation
from rasa_react_ext.errors import ExtensionError
from rasa_react_ext.testing import ModelServer
from rasa_react_ext.testing.transcript import Line, Transcript

__all__ = ["main"]

LATER_SECONDS = 15.0
LOOK_SECONDS = 0.05
Event = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Play the conversation.

    Args:
        arguments: Command line without the program's name; by default the process's own.

    Returns:
        Exit code: 0 when everything went as it should, 1 when not, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    screen, errors = Screen(), sys.stderr
    try:
        with host_output(shown=options.verbose):
            asyncio.run(_play(screen, options))
    except (DemoError, ExtensionError, OSError, TimeoutError) as failure:
        print(f"The demo failed. {failure}", file=errors)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo.play", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="show what the host writes")
    parser.add_argument(
        "--scripts", type=Path, default=SCRIPTS, metavar="FOLDER", help="the model's scripts"
    )
    parser.add_argument(
        "--conversation", type=Path, default=CONVERSATION, metavar="FILE", help="what is said"
    )
    return parser


async def _play(screen: Screen, options: argparse.Namespace) -> None:
    turns = read_conversation(options.conversation)
    # The external agent works until the conversation lets it finish, however fast the machine is.
    gate = Gate()
    with scripted_model(options.scripts.resolve()) as (model, server):
        async with staged_assistant(screen, model, House(pause=gate.wait)) as assistant:
            customer, transcript = customer_of(assistant), Transcript()
            screen.show(transcript.lines(await customer.say("/session_start")))
            for turn in turns:
                events: list[Event] = []
                # Said here, since the host records no message that its busy guard answers.
                screen.show([Line(kind="user", text=turn.user)])
                async for news in _happening(turn, customer, gate, server):
                    screen.show(transcript.lines(news), hide="user")
                    events += news
                _check_script(turn, server)
                check_turn(turn, events, assistant.take_errors())
    screen.say()
    screen.say(f"Played {len(turns)} turns; everything went as it should.", "bold")


async def _happening(
    turn: Turn, customer: Conversation, gate: Gate, server: ModelServer
) -> AsyncGenerator[list[Event], None]:
    """What comes of a turn: at once, and by itself from an agent in the background."""
    events = await customer.say(turn.user)
    yield events
    if turn.report == "finished":
        gate.open()
    until = time.monotonic() + LATER_SECONDS
    while awaits_more(turn, events) and not server.unmatched and time.monotonic() < until:
        await asyncio.sleep(LOOK_SECONDS)
        news = await customer.news()
        events = events + news
        yield news


def _check_script(turn: Turn, server: ModelServer) -> None:
    """A request without an answer is the script's fault, whatever the assistant made of it."""
    for exchange in server.unmatched:
        asked = (exchange.body or {}).get("model")
        raise DemoError(
            f"After {turn.user!r}: the model script has no rule for what {asked} was asked. "
            "Add one to data/model/."
        )


if __name__ == "__main__":
    raise SystemExit(main())
