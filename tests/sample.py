"""The sample assistant for tests: trained once per process, with everything it talks to.

Everything here must be used outside a running event loop, as the host's e2e runner demands.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import shutil
import tempfile
from collections.abc import AsyncIterator, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo.backend import free_port, sample_project, scripted_model
from demo.market import running_market
from demo.reports import Gate, House, running_house
from demo.screen import host_output
from rasa_react_ext.assistant import Project, train
from rasa_react_ext.testing import ModelServer
from tests.host.parsing import parse_once

__all__ = [
    "SAMPLE_PARTS",
    "Pace",
    "Sample",
    "StoryResult",
    "forget_agents",
    "run_stories",
    "running_sample",
]

REPORT_SECONDS = 15
SAMPLE_PARTS = (
    "config.yml",
    "endpoints.yml",
    "credentials.yml",
    "domain.yml",
    "flows",
    "sub_agents",
    "actions",
)
"""Files and folders of the sample that make a project."""


class Pace:
    """How fast the reporting house works: at once, or held until it is let go."""

    def __init__(self) -> None:
        self.gate: Gate | None = None

    async def pause(self) -> None:
        """Take as long as a report takes."""
        if self.gate is not None:
            await self.gate.wait()


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A trained sample, ready to be loaded by the host.

    Attributes:
        archive: The model archive.
        model: The running scripted model, with its log of requests.
        house: The running external agent.
        pace: How fast that works.
        port: Where a server of the assistant is expected.
    """

    archive: Path
    model: ModelServer
    house: House
    pace: Pace
    port: int = field(default_factory=free_port)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryResult:
    """How a story ended; `problem` is empty when it passed."""

    name: str
    problem: str


@contextlib.contextmanager
def running_sample() -> Generator[Sample, None, None]:
    """Have servers, scripted model and trained archive while the block runs."""
    pace, port = Pace(), free_port()
    house = House(pause=pace.pause)
    with (
        running_market() as market_url,
        running_house(house) as reports_card,
        scripted_model() as (model, server),
        sample_project(
            _work(), market_url=market_url, reports_card=reports_card, model=model, port=port
        ) as project,
    ):
        # The host's own warnings are not under test; the block of the caller keeps its filters.
        with host_output(shown=False):
            parse_once()
            archive = _trained(project)
            _read_settings(project)
            forget_agents()
        try:
            yield Sample(archive=archive, model=server, house=house, pace=pace, port=port)
        finally:
            forget_agents()


def run_stories(sample: Sample, stories: Path, *, served: bool = False) -> list[StoryResult]:
    """Run the stories of a file through the host's e2e runner.

    Args:
        sample: The running sample.
        stories: A file in the host's e2e format.
        served: Whether external agents can report to a server meanwhile.
    """
    with host_output(shown=False):
        return [_story_result(result) for result in _run(sample, stories, served=served)]


def _run(sample: Sample, stories: Path, *, served: bool) -> Sequence[Any]:
    from rasa.core.config.configuration import Configuration
    from rasa.e2e_test.e2e_test_runner import E2ETestRunner
    from rasa.e2e_test.utils.io import read_test_cases
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    from rasa_react_ext.host.chat import closing_clients

    endpoints = Configuration.get_instance().endpoints
    endpoints.tracker_store = endpoints.lock_store = endpoints.event_broker = None
    suite = read_test_cases(str(stories))
    app = _server(sample) if served else None
    # The runner loads the model in an event loop of its own; the stories run in a second one.
    runner = E2ETestRunner(
        model_path=str(sample.archive), endpoints=endpoints, test_case_path=stories
    )

    async def run() -> Sequence[Any]:
        async with closing_clients(), AgentsConnectionCleanup(), _listening(app, runner, sample):
            return await runner.run_tests(
                suite.test_cases,
                suite.fixtures_per_test,
                fail_fast=False,
                input_metadata=suite.metadata,
            )

    return asyncio.run(run())


def _server(sample: Sample) -> Any:
    from sanic import Sanic

    from demo.terminal import server_app

    Sanic.test_mode = True
    return server_app(sample.port)


@contextlib.asynccontextmanager
async def _listening(app: Any, runner: Any, sample: Sample) -> AsyncIterator[None]:
    """Have external agents report to a server, and let a story wait for what they report."""
    if app is None:
        yield
        return
    from demo.terminal import listening

    sample.pace.gate = gate = Gate()
    try:
        async with listening(app, runner.agent, sample.port):
            runner.agent = _Patient(runner.agent, gate)
            yield
    finally:
        sample.pace.gate = None


class _Patient:
    """The host's agent, which gets a message when the external agent has come so far."""

    def __init__(self, agent: Any, gate: Gate) -> None:
        self._agent = agent
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def handle_message(self, message: Any) -> Any:
        wanted = (message.metadata or {}).get("agent")
        if wanted == "finished":
            self._gate.open()
        async with asyncio.timeout(REPORT_SECONDS):
            while wanted and not await _has_come_to(wanted, message.sender_id):
                await asyncio.sleep(0.02)
        return await self._agent.handle_message(message)


async def _has_come_to(wanted: str, conversation: str) -> bool:
    from rasa_react_ext.host.external import ledger

    rows = await ledger.tasks().open_of(conversation)
    if wanted == "working":
        return any(row.said.startswith("Going through") for row in rows)
    return any(row.parked for row in rows)


def forget_agents() -> None:
    """Empty the host's process-wide register of agents: what a test left there outlives it."""
    with host_output(shown=False):
        from rasa.agents.agent_manager import AgentManager

    AgentManager().agents.clear()


def _story_result(result: Any) -> StoryResult:
    failure = result.assertion_failure
    problem = ""
    if not result.pass_status:
        problem = failure.error_message if failure else "\n".join(result.difference or ["failed"])
        if failure:
            problem += "\n" + "\n".join(map(str, failure.actual_events_transcript))
    return StoryResult(name=result.test_case.name, problem=problem)


def _read_settings(project: Project) -> None:
    from rasa.core.config.configuration import Configuration

    Configuration.initialise_endpoints(Path(project.endpoints))
    Configuration.initialise_sub_agents(Path(project.sub_agents))


@functools.cache
def _trained(project: Project) -> Path:
    return asyncio.run(train(project, Path(tempfile.mkdtemp(dir=_work()))))


@functools.cache
def _work() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="wealth-desk-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
