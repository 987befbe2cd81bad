"""The three servers as processes of their own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

from demo.backend import ROOT

COMMANDS = pytest.mark.parametrize("command", ["demo.market", "demo.model", "demo.reports"])


@COMMANDS
def test_a_server_prints_its_url_and_ends_at_an_interruption(command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            _, complaints = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert complaints == ""


@COMMANDS
def test_a_server_says_in_one_line_that_its_port_is_taken(command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [sys.executable, "-m", command, "--port", port],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert f"{command} cannot start on port {port}" in ended.stderr
