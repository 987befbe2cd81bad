"""The sample's stories through the host's own runner: recorded, then replayed without the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rasa_react_ext.testing import Cassette, RecordingModel, ReplayModel, ServedModel
from tests.sample import Sample, run_stories, running_sample

pytestmark = [pytest.mark.host, pytest.mark.timeout(400)]

STORIES = Path(__file__).parents[1] / "e2e" / "book_advisor.yml"


@contextmanager
def _pointed_at(model: ServedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The host's settings, with another model than the sample's."""
    from rasa.core.config.configuration import Configuration

    with monkeypatch.context() as environment:
        environment.setenv("OPENAI_BASE_URL", model.base_url)
        Configuration.initialise_endpoints(Path("endpoints.yml"))
        Configuration.initialise_sub_agents(Path("sub_agents"))
        yield


def _results(sample: Sample) -> dict[str, str]:
    return {result.name: result.problem for result in run_stories(sample, STORIES)}


def test_stories_pass_from_a_cassette_with_the_recorded_model_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_sample() as sample:
        with (
            RecordingModel(tmp_path, sample.model.base_url).serve() as recording,
            _pointed_at(recording, monkeypatch),
        ):
            recorded = _results(sample)
        assert len(recorded) > 3
        assert set(recorded.values()) == {""}
        asked = sample.model.request_count
        assert asked == recording.request_count == len(Cassette(tmp_path).entries)
        with ReplayModel(tmp_path).serve() as replay, _pointed_at(replay, monkeypatch):
            assert _results(sample) == recorded
        assert replay.unmatched == []
        assert (sample.model.request_count, replay.request_count) == (asked, asked)
