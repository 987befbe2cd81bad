"""A process that loads a trained assistant and says something to it.

Such a process is forked from one that imported the host and did nothing else: a fork of the
process of the tests would take over locks of threads that do not run in it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from tests.host.project import Project, loaded

__all__ = ["HEAVY", "say"]

HEAVY = ("rasa.core.agent", "rasa.model_training", "rasa_react_ext.policy")
"""What takes its time to import, once for all such processes."""


def say(
    project: Project, archive: Path, texts: tuple[str, ...], variables: Mapping[str, str]
) -> None:
    """Say these texts to the assistant of an archive, with these environment variables."""
    os.environ.update(variables)
    asyncio.run(_say(project, archive, texts))


async def _say(project: Project, archive: Path, texts: tuple[str, ...]) -> None:
    async with loaded(project, archive=archive) as agent:
        for text in texts:
            await agent.handle_text(text, sender_id="anna")
