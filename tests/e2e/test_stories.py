"""The sample's stories, through the host's own e2e runner."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.sample import Sample, run_stories, running_sample

# The first of them trains the sample and runs all stories.
pytestmark = [pytest.mark.host, pytest.mark.timeout(400)]

HERE = Path(__file__).parent
SERVED = sorted(HERE.glob("background/*.yml"))
FILES = [*sorted(HERE.glob("*.yml")), *SERVED]
STORIES = [
    pytest.param(file, story["test_case"], id=f"{file.stem}: {story['test_case']}")
    for file in FILES
    for story in yaml.safe_load(file.read_text(encoding="utf-8"))["test_cases"]
]
CANCELLED = 2
"""Stories in which the customer cancels what an external agent does."""


@pytest.fixture(scope="module")
def sample() -> Iterator[Sample]:
    with running_sample() as running:
        yield running


@pytest.fixture(scope="module")
def problems(sample: Sample) -> dict[tuple[Path, str], str]:
    return {
        (file, result.name): result.problem
        for file in FILES
        for result in run_stories(sample, file, served=file in SERVED)
    }


@pytest.mark.parametrize(("file", "story"), STORIES)
def test_a_story_of_the_sample_goes_as_written(
    problems: dict[tuple[Path, str], str], file: Path, story: str
) -> None:
    problem = problems[file, story]
    assert not problem, problem


def test_the_script_answers_every_request_of_the_stories(
    problems: dict[tuple[Path, str], str], sample: Sample
) -> None:
    assert len(problems) == len(STORIES)
    assert [exchange.number for exchange in sample.model.unmatched] == []


def test_what_the_customers_cancelled_is_cancelled_at_the_external_agent(
    problems: dict[tuple[Path, str], str], sample: Sample
) -> None:
    assert problems
    until = time.monotonic() + 10
    while sample.house.cancelled < CANCELLED and time.monotonic() < until:
        time.sleep(0.05)
    assert sample.house.cancelled == CANCELLED
