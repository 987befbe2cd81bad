"""The sample assistant for tests: trained once per process, with its market and scripted model.

Everything here must be used outside a running event loop, as the host's e2e runner demands.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import shutil
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.assistant import HostLog, train
from demo.backend import ROOT, project_environment, scripted_model
from demo.market import running_market
from demo.screen import host_output
from rasa_react_ext.testing import ModelServer

__all__ = ["Sample", "StoryResult", "forget_agents", "run_stories", "running_sample"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A trained sample, ready to be loaded by the host.

    Attributes:
        archive: The model archive.
        market_url: URL of the running MCP server.
        model: The running scripted model, with its log of requests.
    """

    archive: Path
    market_url: str
    model: ModelServer


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryResult:
    """How a story ended; `problem` is empty when it passed."""

    name: str
    problem: str


@contextlib.contextmanager
def running_sample(config: Path = ROOT / "config.yml") -> Generator[Sample, None, None]:
    """Have market, scripted model and trained archive while the block runs.

    Args:
        config: The configuration to train with; each is trained once per process.
    """
    with (
        running_market() as market_url,
        scripted_model() as (model, server),
        project_environment(market_url=market_url, model=model, cache=_work() / "cache"),
    ):
        # The host's own warnings are not under test; the block of the caller keeps its filters.
        with host_output(shown=False):
            archive = _trained(config, config.read_text(encoding="utf-8"))
            _read_settings()
            forget_agents()
        try:
            yield Sample(archive=archive, market_url=market_url, model=server)
        finally:
            forget_agents()


def run_stories(sample: Sample, stories: Path) -> list[StoryResult]:
    """Run the stories of a file through the host's e2e runner.

    Args:
        sample: The running sample.
        stories: A file in the host's e2e format.
    """
    with host_output(shown=False):
        return [_story_result(result) for result in _run(sample, stories)]


def _run(sample: Sample, stories: Path) -> Sequence[Any]:
    from rasa.core.config.configuration import Configuration
    from rasa.e2e_test.e2e_test_runner import E2ETestRunner
    from rasa.e2e_test.utils.io import read_test_cases
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    endpoints = Configuration.get_instance().endpoints
    endpoints.tracker_store = endpoints.lock_store = endpoints.event_broker = None
    suite = read_test_cases(str(stories))
    # The runner loads the model in an event loop of its own; the stories run in a second one.
    runner = E2ETestRunner(
        model_path=str(sample.archive), endpoints=endpoints, test_case_path=stories
    )

    async def run() -> Sequence[Any]:
        async with AgentsConnectionCleanup():
            return await runner.run_tests(
                suite.test_cases,
                suite.fixtures_per_test,
                fail_fast=False,
                input_metadata=suite.metadata,
            )

    return asyncio.run(run())


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


def _read_settings() -> None:
    from rasa.core.config.configuration import Configuration

    Configuration.initialise_endpoints(Path("endpoints.yml"))
    Configuration.initialise_sub_agents(Path("sub_agents"))


@functools.cache
def _trained(config: Path, _text: str) -> Path:
    output = Path(tempfile.mkdtemp(dir=_work()))
    return asyncio.run(train(output, HostLog(), config=config))


@functools.cache
def _work() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="wealth-desk-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
