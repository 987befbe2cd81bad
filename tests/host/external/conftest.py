"""A project whose agent `broker` is a remote one, served by a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import Remote, remote
from tests.host.external.words import COMMANDS, external
from tests.host.project import Project


@pytest.fixture
def broker() -> Iterator[Remote]:
    """The remote agent."""
    with remote() as agent:
        yield agent


@pytest.fixture
def trading(project: Project, model: ModelServer, broker: Remote) -> Project:
    """The project, with its model scripted and `broker` reached by its card."""
    model.use(COMMANDS)
    return external(project, broker)


@pytest.fixture
def hooked() -> Iterator[dict[str, list[Any]]]:
    """What a user's hooks saw."""
    from tests.host.external import user_agent

    user_agent.SEEN.clear()
    yield user_agent.SEEN
    user_agent.SEEN.clear()
