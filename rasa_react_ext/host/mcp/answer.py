"""Who answers what a server asks during a call, carried beside the call itself.

The pool is shared by all agents; the call's own answers travel in its context. A server
is told only of what its agent allows, so a question that nobody answers is a mistake of
the server's and is refused.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from rasa_react_ext.mcp_pool import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Progress,
    SamplingAnswer,
    SamplingRequest,
)

__all__ = ["CALLBACKS", "answering"]

_NOBODY = Callbacks()
_answers: ContextVar[Callbacks] = ContextVar("rasa_react_ext_answers", default=_NOBODY)


@contextmanager
def answering(**answers: Any) -> Generator[None]:
    """Let these callbacks answer for the calls made in the block.

    Args:
        answers: Fields of `Callbacks`; the others stay as they are.
    """
    reset = _answers.set(replace(_answers.get(), **answers))
    try:
        yield
    finally:
        _answers.reset(reset)


async def _elicit(request: ElicitationRequest) -> ElicitationAnswer:
    elicit = _answers.get().elicit
    return await elicit(request) if elicit else ElicitationAnswer(action="cancel")


async def _sample(request: SamplingRequest) -> SamplingAnswer:
    sample = _answers.get().sample
    if sample is None:
        raise LookupError("This call has no model.")
    return await sample(request)


def _progress(report: Progress) -> None:
    if (progress := _answers.get().progress) is not None:
        progress(report)


CALLBACKS = Callbacks(elicit=_elicit, sample=_sample, progress=_progress)
"""For the pool of the process."""
