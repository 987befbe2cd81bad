"""What the host prints while a command works."""

from __future__ import annotations

import click
import pytest

from rasa_react_ext.cli.quiet import prints_kept_quiet


@pytest.mark.parametrize(("debug", "shown"), [(False, ""), (True, "Sign up\n")])
def test_what_the_host_prints_is_shown_only_to_who_looks_for_faults(
    debug: bool, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with click.Context(click.Command("chat"), obj=debug), prints_kept_quiet():
        print("Sign up")
    assert capsys.readouterr().out == shown
