"""What a provider profile is: rules over a request body, and the error it answers with.

Pure: a rule looks at the body and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Body", "Call", "Problem", "Profile", "Refusal", "Rule"]

Body = Mapping[str, Any]
"""A parsed chat-completions request body."""

Call = dict[str, Any]
"""A tool call in wire form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a provider would refuse a request.

    Attributes:
        message: Explains it, with the place in the request.
        code: The provider's code, where it has one.
        param: Path of the offending value, where the provider tells it.
        status: HTTP status.
    """

    message: str
    code: str | None = None
    param: str | None = None
    status: int = 400


Rule = Callable[[Body], Problem | None]
"""A pure check of one behaviour; None when the request is fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The refusal of one request.

    Attributes:
        rule: Profile and rule, e.g. `anthropic.roles_alternate`.
        status: HTTP status to answer with.
        message: The explanation alone.
        body: The whole error body in the provider's shape.
    """

    rule: str
    status: int
    message: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A provider's strictness.

    Attributes:
        name: Name used in scripts and on the command line.
        rules: Checked in order; the first problem decides.
        error_body: Puts a problem into the provider's error shape.
        sign: Adds the provider's own fields to the calls of an answer; None for none.
    """

    name: str
    rules: tuple[Rule, ...]
    error_body: Callable[[Problem], Mapping[str, Any]]
    sign: Callable[[Sequence[Call]], tuple[Call, ...]] | None = None

    def refuse(self, body: Body) -> Refusal | None:
        """The refusal this provider would answer with; None when it accepts the request."""
        for rule in self.rules:
            problem = rule(body)
            if problem is not None:
                return Refusal(
                    rule=f"{self.name}.{rule.__name__}",
                    status=problem.status,
                    message=problem.message,
                    body=self.error_body(problem),
                )
        return None
