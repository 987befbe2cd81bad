"""What reaches the terminal while a step of the demo runs."""

from __future__ import annotations

import io
import sys

from demo.screen import Screen, host_output


class Tty(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_what_the_host_prints_during_a_step_does_not_reach_the_terminal() -> None:
    terminal = Tty()
    screen = Screen(terminal)
    with host_output(shown=False), screen.step("Training"):
        print("Sign up")
        print("A warning", file=sys.stderr)
    shown = terminal.getvalue()
    assert "Training ..." in shown
    assert "Sign up" not in shown
    assert "A warning" not in shown
