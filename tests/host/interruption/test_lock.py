"""Two agents, a slow tool and a queue: all of a turn is over before its lock is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.host, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[3]
LIFETIME_SECONDS = 12
TURN_SECONDS = 6.0
"""The lock's lifetime without its reserve, which is half of a lifetime this short."""


def test_d3_1_the_lock_is_not_outlived_by_two_agents_a_slow_tool_and_a_queue() -> None:
    environment = {**os.environ, "TICKET_LOCK_LIFETIME": str(LIFETIME_SECONDS)}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.host.interruption.locked"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    played = json.loads(ended.stdout.splitlines()[-1])
    print(json.dumps(played, indent=1))
    first, second = played["first"], played["second"]
    assert first["texts"][0] == "I have rested."
    assert first["seconds"] >= 2.0, "the queue before the second message"
    # The second message waited, so its agents had what was left since its arrival.
    assert first["seconds"] < second["seconds"] < TURN_SECONDS + 2.0 < LIFETIME_SECONDS
    assert second["texts"] == ["I have rested.", "It takes longer. Shall I go on?"]
    *_, (tool, outcome) = played["tools"]
    assert tool == "doze"
    assert "gave no answer within" in outcome
    assert "unknown" in outcome
    assert played["flow"] == "both", "the flow waits for the user's answer"
