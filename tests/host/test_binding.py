"""With one line in config.yml, every kind of project runs on this engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.project import Project, loaded

pytestmark = pytest.mark.host


async def test_an_unchanged_project_runs_its_tools_at_once(
    project: Project, script: Callable[..., ModelServer], done: Counter[str]
) -> None:
    meet = {"name": "meet", "arguments": {"count": 3}}
    script(
        {"when": {"last": "user"}, "answer": {"calls": [meet, meet, meet]}},
        {"when": {"tool": "meet", "result": "met"}, "answer": "All met."},
    )
    async with loaded(project) as agent:
        said = await agent.handle_text("start shop", sender_id="anna")
    assert [message["text"] for message in said] == ["All met."]
    assert done["meet"] == 3
