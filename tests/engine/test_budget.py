from __future__ import annotations

import pytest

from rasa_react_ext.engine.budget import Budget
from tests.engine.fake import away


def test_d3_1_part_of_the_time_is_kept_for_the_closing_answer() -> None:
    budget = Budget(deadline=50.0, closing_seconds=5.0)
    assert budget.remaining(40.0) == 5.0
    assert budget.remaining(40.0, closing=True) == 10.0
    assert budget.remaining(60.0, closing=True) == -10.0


@pytest.mark.parametrize(("turn", "share"), [(50.0, 5.0), (25.0, 5.0), (10.0, 2.0), (0.0, 0.0)])
def test_d3_1_the_closing_share_is_a_fifth_and_five_seconds_at_most(
    turn: float, share: float
) -> None:
    assert Budget.closing_share(turn) == share


def test_d3_6_retries_wait_longer_each_time_and_are_bounded() -> None:
    budget = Budget(deadline=50.0, model_retries=3)
    delays = [budget.retry_delay(away(), attempt) for attempt in (1, 2, 3, 4)]
    assert delays == [0.5, 1.0, 2.0, None]


@pytest.mark.parametrize(
    ("asked", "waited"), [(7.0, 7.0), (0.0, 0.0), (-3.0, 0.0), (float("nan"), 0.0)]
)
def test_d3_6_the_delay_the_provider_asks_for_is_respected(asked: float, waited: float) -> None:
    assert Budget(deadline=50.0).retry_delay(away("rate_limit", asked), 1) == waited


@pytest.mark.parametrize("kind", ["content_filter", "context_length", "refused_request"])
def test_d3_6_what_would_fail_again_is_not_tried_again(kind: str) -> None:
    assert Budget(deadline=50.0).retry_delay(away(kind), 1) is None
