"""What a chat looks like in a terminal and elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from rasa_react_ext.cli.screen import Screen


def test_a_stop_is_told_once_behind_the_text_or_below_it() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80, force_terminal=True, color_system=None))
    for broken_off in (True, False):
        screen.piece("Once upon")
        if not broken_off:
            screen.echoed()
            screen.note("Stopping the turn …")
        screen.end(interrupted=True)
        screen.stopped()
        screen.ask()
        screen.heard()
    assert file.getvalue() == (
        "bot > Once upon (stopped)\nyou > bot > Once upon\nStopping the turn …\n(stopped)\nyou > "
    )


def test_words_that_come_by_themselves_leave_the_line_that_is_being_typed() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80, force_terminal=True, color_system=None))
    screen.ask()
    screen.message("Your report is ready.")
    screen.ask()
    screen.heard()
    screen.said("Thanks.")
    screen.message("Welcome.")
    assert file.getvalue() == "you > \nbot > Your report is ready.\nyou > bot > Welcome.\n"


def test_a_message_is_written_again_where_the_prompt_came_back_meanwhile() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80, force_terminal=True, color_system=None))
    screen.ask()
    screen.said("Thanks.")
    assert file.getvalue() == "you > Thanks.\n"


def test_where_there_is_no_terminal_a_message_stays_a_line() -> None:
    file, text = io.StringIO(), " ".join(["word"] * 99)
    screen = Screen(Console(file=file, width=80))
    screen.said(text)
    screen.message(text)
    screen.piece(text)
    assert file.getvalue() == f"you > {text}\nbot > {text}\nbot > {text}"


def test_why_a_tool_failed_is_one_line_and_cut() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80))
    for failure in ("no such share", "x" * 999, "", None):
        screen.tool_finished("find", seconds=1.5, failure=failure)
    assert file.getvalue().splitlines() == [
        "  ✗ find failed in 1.50 s: no such share",
        f"  ✗ find failed in 1.50 s: {'x' * 100}…",
        "  ✗ find failed in 1.50 s",
        "  ✓ find in 1.50 s",
    ]
