"""`python -m demo.play`: train the sample and play a whole conversation over both its agents.

Needs no key and no network. Ends by itself; exit code 1 and one line when anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from demo.backend import SCRIPTS, scripted_model
from demo.conversation import CONVERSATION, Turn, check_turn, read_conversation
from demo.failure import DemoError
from demo.screen import Screen, host_output
from demo.stage import staged_assistant
from rasa_react_ext.errors import ExtensionError
from rasa_react_ext.testing import ModelServer
from rasa_react_ext.testing.transcript import Transcript

__all__ = ["main"]


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
    with scripted_model(options.scripts.resolve()) as (model, server):
        async with staged_assistant(screen, model, verbose=options.verbose) as assistant:
            transcript = Transcript()
            screen.show(transcript.lines(await assistant.begin()))
            for turn in turns:
                events = await assistant.say(turn.user)
                screen.show(transcript.lines(events))
                _check_script(turn, server)
                check_turn(turn, events, assistant.log.take())
    screen.say()
    screen.say(f"Played {len(turns)} turns; everything went as it should.", "bold")


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
