"""What a connection needs to know: where an agent is, and how long to wait for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

__all__ = ["AgentSpec", "Patience", "PushTarget"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """How one remote agent is reached.

    Attributes:
        name: Its name here, for messages.
        card: Path or http(s) address of its card, or the base address of the agent.
        timeout_seconds: Longest wait for one answer, or between two events of a stream.
        max_retries: Further attempts when the agent surely did not get a request.
        make_auth: Makes the scheme that signs requests; called again when the agent
            answers 401, so that a cached token is not used twice. None signs nothing.
        card_seconds: Age at which the card is read again.
        card_key: Key the card must be signed with: PEM, JSON Web Key (Set), or a shared
            secret. None does not look at signatures.
        card_algorithms: Signature algorithms that are accepted.
        authorities: PEM of the authorities that may vouch for the agent, on every transport.
            None means the usual ones.
    """

    name: str
    card: str
    timeout_seconds: float = 30.0
    max_retries: int = 5
    make_auth: Callable[[], httpx.Auth] | None = None
    card_seconds: float = 3600.0
    card_key: str | None = None
    card_algorithms: Sequence[str] = ("ES256", "RS256")
    authorities: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long one message may take.

    Attributes:
        deadline: Monotonic time at which everything about it must be over.
        poll_seconds: Longest time of asking without hearing anything by itself.
        first_delay_seconds: Pause before the second question; doubles up to 5 s.
    """

    deadline: float
    poll_seconds: float = 60.0
    first_delay_seconds: float = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class PushTarget:
    """Where an agent reports about a task by itself.

    Attributes:
        url: Our address for this task.
        secret: What proves that a report comes from this agent.
        id: Our name of the registration.
    """

    url: str
    secret: str
    id: str
