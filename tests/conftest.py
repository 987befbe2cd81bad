"""What every test may use: free ports, services that may be absent, a check for leftovers.

Holds nothing about the package itself; fixtures of one area live beside its tests.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

# Read by the host and its LLM layer when they are imported, which happens after this file.
os.environ.setdefault("RASA_TELEMETRY_ENABLED", "false")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

HOST_PATHS = ("/site-packages/rasa/", "/site-packages/litellm/")
SHARED_HELPERS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
    "tests.forked.server",
)


def skip_or_fail(reason: str) -> NoReturn:
    """Skip on a person's machine; fail on the CI machine, which has what tests need."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"The CI machine must have this: {reason}", pytrace=False)
    pytest.skip(reason)  # noqa: TID251 - the one place that may


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Gives another free loopback port at each call."""

    def pick() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        return port

    return pick


@pytest.fixture(scope="session")
def postgresql() -> tuple[str, int]:
    """Host and port of a running PostgreSQL."""
    return _listening("PostgreSQL", 5432)


@pytest.fixture(scope="session")
def redis() -> tuple[str, int]:
    """Host and port of a running Redis."""
    return _listening("Redis", 6379)


@pytest.fixture(scope="session")
def npx() -> str:
    """Path of npx."""
    return shutil.which("npx") or skip_or_fail("npx is not installed")


@pytest.fixture(scope="session")
def forked() -> Iterator[list[str]]:
    """Stands in the place of `python` before `-m MODULE`: the host is imported once for all."""
    from tests.forked.server import forking

    with forking() as python:
        yield python


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a child process or, in its event loop, a task behind."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("no_task_left_behind")
    before = _children()
    yield
    left = {pid: command for pid, command in _children().items() if pid not in before}
    assert not left, f"child processes left behind: {left}"


@pytest.fixture
async def no_task_left_behind() -> AsyncIterator[None]:
    """Part of `nothing_left_behind`; asked for first, so it looks last."""
    yield
    # Tasks that were told to stop get the few turns of the loop they need.
    for _ in range(10):
        await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if not _expected(task)]
    assert not left, f"tasks left behind: {left}"


def _listening(service: str, port: int) -> tuple[str, int]:
    address = ("127.0.0.1", port)
    try:
        socket.create_connection(address, timeout=5).close()
    except OSError as error:
        skip_or_fail(f"no {service} on 127.0.0.1:{port}: {error}")
    return address


def _expected(task: asyncio.Task[Any]) -> bool:
    """Whether the task is the asking one, or one the host starts for the whole process."""
    code = getattr(task.get_coro(), "cr_code", None)
    return task is asyncio.current_task() or any(
        path in getattr(code, "co_filename", "") for path in HOST_PATHS
    )


def _children() -> dict[int, str]:
    """Command lines of the child processes that run; empty where /proc does not tell."""
    children: dict[int, str] = {}
    for listing in Path("/proc/self/task").glob("*/children"):
        for pid in _read(listing).split():
            # A process that ended but is not yet reaped has no command line.
            command = _read(Path("/proc", pid, "cmdline")).replace("\0", " ").strip()
            if command and not any(helper in command for helper in SHARED_HELPERS):
                children[int(pid)] = command
    return children


def _read(path: Path) -> str:
    """The text of a file under /proc; empty when its process or thread is gone."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
