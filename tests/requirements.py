"""Promised behaviours, each tied to tests in both directions.

An id stands at the beginning of the name of every test that proves it:
`test_b14_...` proves `b14`, `test_d3_1_...` proves `d3_1`. No id may be without a
test, no test may name an id that is not here; `tests/project/test_requirements.py`
checks both.

`b…` are known faults of agent systems, numbered as in the list of cases the project
works from; `d…` are decisions, numbered as in `docs/design.md`.
"""

from __future__ import annotations

__all__ = ["REQUIREMENTS"]

REQUIREMENTS: dict[str, str] = {}
