"""Every error this package raises on purpose, in five families.

    ExtensionError
    ├── ConfigurationError   the developer acts: a file, a key, a fix
    ├── HostError            Rasa acts: the host is not what this package was built for
    ├── PeerError            an MCP server, an A2A agent or a model is at fault
    │   ├── ConnectionLostError
    │   ├── OutcomeUnknownError
    │   └── ModelError
    ├── FeedbackError        goes to the model, which may repair it
    └── LimitError           a budget ran out

Facts are in attributes; the text ends with the next step.
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "ConnectionLostError",
    "ExtensionError",
    "FeedbackError",
    "HostError",
    "LimitError",
    "ModelError",
    "OutcomeUnknownError",
    "PeerError",
]


class ExtensionError(Exception):
    """Root of all errors of this package."""


class ConfigurationError(ExtensionError):
    """A setting is wrong; the text names file, key and fix.

    Attributes:
        file: File the setting was read from, as the developer named it.
        key: Dotted path of the key inside that file; empty where it is the whole file.
        problem: What is wrong with it.
        fix: What to write instead.
    """

    def __init__(self, *, file: str, key: str, problem: str, fix: str) -> None:
        place = f"{file}: {key}" if key else file
        super().__init__(f"{place}: {problem} {fix}".rstrip())
        self.file = file
        self.key = key
        self.problem = problem
        self.fix = fix


class HostError(ExtensionError):
    """The host misses something this package relies on."""


class PeerError(ExtensionError):
    """A remote party is at fault.

    Attributes:
        peer: Name of the server, agent or model group.
    """

    def __init__(self, peer: str, message: str) -> None:
        super().__init__(message)
        self.peer = peer


class ConnectionLostError(PeerError):
    """The peer could not be reached, and the call surely did not start."""


class OutcomeUnknownError(PeerError):
    """The call was sent, but nobody knows whether it took effect."""


class ModelError(PeerError):
    """The model did not give a usable answer.

    Attributes:
        kind: One of `rate_limit`, `unavailable`, `timeout`, `content_filter`,
            `context_length`, `refused_request`, `bad_answer`.
        retry_after_seconds: Pause the provider asked for, if it did.
    """

    def __init__(
        self,
        peer: str,
        message: str,
        *,
        kind: str,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(peer, message)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed when it is sent again."""
        return self.kind in {"bad_answer", "rate_limit", "timeout", "unavailable"}


class FeedbackError(ExtensionError):
    """A fault of the model's own making, told to the model as a tool result."""


class LimitError(ExtensionError):
    """A budget ran out.

    Attributes:
        budget: One of `steps`, `time`, `tokens`, `repeats`, `refusals`.
    """

    def __init__(self, budget: str, message: str) -> None:
        super().__init__(message)
        self.budget = budget
