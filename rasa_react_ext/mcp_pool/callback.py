"""What a server may ask of this side during a call, and who answers.

A port: the pool calls it, the host adapter implements it. What is not implemented is
declined with a clear text, and the server is not told that it may ask.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rasa_react_ext.engine.tool import CallContext, Tool
from rasa_react_ext.mcp_pool.spec import Offer

__all__ = [
    "Callbacks",
    "ElicitationAnswer",
    "ElicitationRequest",
    "Progress",
    "SamplingAnswer",
    "SamplingRequest",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationRequest:
    """A server asks the user something in the middle of a call.

    Attributes:
        server: Name of the server.
        tool: The tool that is running.
        context: Context of its call.
        message: The question, in the server's words.
        schema: JSON schema of the form to fill in; empty for a web page.
        url: Page the user is to visit, or empty for a form.
    """

    server: str
    tool: Tool
    context: CallContext
    message: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    """What the user said.

    Attributes:
        action: `accept`, `decline` or `cancel` (the user did neither).
        content: The filled-in form; only with `accept`.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A server asks for a model's answer in the middle of a call.

    Attributes:
        server: Name of the server.
        tool: The tool that is running.
        context: Context of its call.
        messages: Pairs of role (`user` or `assistant`) and text.
        system_prompt: Instructions the server would like, or empty.
        max_tokens: Length limit of the answer.
        temperature: Wish of the server, if any.
    """

    server: str
    tool: Tool
    context: CallContext
    messages: tuple[tuple[str, str], ...]
    system_prompt: str = ""
    max_tokens: int
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingAnswer:
    """A model's answer.

    Attributes:
        text: The answer.
        model: Name of the model.
        cut: It was cut off at the length limit.
    """

    text: str
    model: str
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a call is.

    Attributes:
        server: Name of the server.
        tool: The tool that is running.
        context: Context of its call.
        done: Work done so far, in the server's unit.
        total: All the work, if the server knows.
        message: What the server says about it, or empty.
    """

    server: str
    tool: Tool
    context: CallContext
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """Who answers servers.

    Each runs in the context (`contextvars`) of the call that caused it, so that it
    can tell conversations apart although they share a session. While a question to
    the user is open, the time limit of the call stands still: `elicit` must bound
    itself. A callback that raises is answered as declined; of a `LimitError` the server
    is told the text, of any other only the kind.

    Attributes:
        elicit: Asks the user.
        sample: Asks the agent's model.
        progress: Hears how far a call is; must not block.
    """

    elicit: Callable[[ElicitationRequest], Awaitable[ElicitationAnswer]] | None = None
    sample: Callable[[SamplingRequest], Awaitable[SamplingAnswer]] | None = None
    progress: Callable[[Progress], None] | None = None

    def offered(self, offers: frozenset[Offer]) -> Callbacks:
        """Those that a server is to know of; progress needs no leave."""
        return replace(
            self,
            elicit=self.elicit if "elicitation" in offers else None,
            sample=self.sample if "sampling" in offers else None,
        )
