from __future__ import annotations

from pathlib import Path

import click
import pytest

from rasa_react_ext.cli.failure import ExitCode, failure_of
from rasa_react_ext.errors import (
    ConfigurationError,
    ConnectionLostError,
    HostError,
    LimitError,
    ModelError,
)

WRONG = ConfigurationError(file="a.yml", key="b", problem="it is wrong.", fix="Put it right.")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (WRONG, 3, "a.yml: b: it is wrong. Put it right."),
        (HostError("Rasa Pro 9 is installed."), 4, "Rasa Pro 9 is installed."),
        (ConnectionLostError("shop", "The shop is closed."), 5, "The shop is closed."),
        (ModelError("m", "It refuses.", kind="refused_request"), 5, "It refuses."),
        (LimitError("time", "It took too long."), 1, "It took too long."),
        (FileNotFoundError(2, "No such file", "x.yml"), 3, "No such file: 'x.yml'."),
        (PermissionError(13, "Permission denied", "x.yml"), 6, "Permission denied: 'x.yml'."),
        (OSError(98, "Address already in use"), 6, "Address already in use."),
        (OSError("no words"), 6, "no words."),
        (click.UsageError("No such option."), 2, "No such option."),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
)
def test_a_failure_is_one_message_and_a_code(error: BaseException, code: int, text: str) -> None:
    failure = failure_of(error)
    assert (failure.code, failure.text) == (code, text)


def test_a_fault_of_our_own_says_so_and_how_to_see_more() -> None:
    failure = failure_of(KeyError("lost"))
    assert failure.code == ExitCode.INTERNAL
    assert failure.text.startswith("KeyError: 'lost'\nThis is a fault of rasa-react.")
    assert "--debug" in failure.text


def test_every_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert [code for code in ExitCode if f"| {code.value} |" not in page] == []
