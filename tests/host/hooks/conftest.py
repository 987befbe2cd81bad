"""An agent of a user's class at work, one turn at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.host.project import Project
from tests.host.turn import agent_at_work

AtWork = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def at_work(project: Project) -> AtWork:
    """Builds the agent `clerk` from a class, given as `configuration.module`."""

    def build(
        user_class: type, *, task: bool = False, settings: Any = None, **configuration: Any
    ) -> AbstractAsyncContextManager[Any]:
        module = f"{user_class.__module__}.{user_class.__name__}"
        with_class = project.with_agent(module=module, **configuration)
        return agent_at_work(with_class, task=task, settings=settings)

    return build
