"""Ctrl-C before a command has begun its work."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rasa_react_ext.cli.failure import ExitCode


@pytest.mark.parametrize("command", ["chat", "check"])
def test_ctrl_c_while_the_host_is_imported_ends_at_once_without_a_traceback(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.tar.gz").touch()
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "rasa_react_ext.cli", command],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            while not (line := process.stderr.readline()).endswith(" rasa\n"):
                assert line
            process.send_signal(signal.SIGINT)
            shown = process.stderr.read()
            assert process.wait(5) == ExitCode.INTERRUPTED
        finally:
            process.kill()
    assert "Traceback" not in shown
    assert " rasa_react_ext.host.terminal\n" not in shown
    assert " rasa_react_ext.host.inspection\n" not in shown
