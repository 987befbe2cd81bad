"""A running model of the tests as the tests see it: where it is, and what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from rasa_react_ext.testing.log import Exchange, RequestLog
from rasa_react_ext.testing.request import ChatRequest

__all__ = ["ServedModel"]


class ServedModel:
    """A running model: scripted, recording or replaying.

    Args:
        log: What it was asked.
        url: Root of the server.
    """

    def __init__(self, log: RequestLog, url: str) -> None:
        self._log = log
        self._url = url

    @property
    def url(self) -> str:
        """Root of the server, e.g. `http://127.0.0.1:50123`."""
        return self._url

    @property
    def base_url(self) -> str:
        """What OpenAI clients call the base URL: the root with `/v1`."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Exchange]:
        """The kept requests, oldest first."""
        return self._log.exchanges

    @property
    def request_count(self) -> int:
        """How many requests came, also those no longer kept."""
        return self._log.count

    @property
    def unmatched(self) -> list[Exchange]:
        """The requests for which the script or cassette had no answer."""
        return self._log.unmatched

    @property
    def losses(self) -> list[OSError]:
        """Why answers that were given could not be stored or logged, one for each."""
        return self._log.losses

    @property
    def last(self) -> Exchange:
        """The newest request.

        Raises:
            LookupError: There was none yet.
        """
        return self._exchange(-1)

    def messages(self, index: int = -1) -> list[dict[str, Any]]:
        """The messages of a kept request, by default of the newest."""
        return list((self._exchange(index).body or {}).get("messages", ()))

    def tool_names(self, index: int = -1) -> list[str]:
        """The tools offered in a kept request, by default in the newest."""
        return ChatRequest(self._exchange(index).body or {}).tools

    def clear(self) -> None:
        """Forget the log; the answers go on where they are."""
        self._log.clear()

    async def wait_until(self, holds: Callable[[Self], bool], timeout_seconds: float = 5) -> None:
        """Wait until a condition on the log holds, e.g. that three requests came.

        Raises:
            TimeoutError: It did not hold in time.
        """
        await self._log.wait_until(lambda: holds(self), timeout_seconds)

    def _exchange(self, index: int) -> Exchange:
        exchanges = self._log.exchanges
        if not exchanges:
            raise LookupError("the model was not asked anything yet")
        return exchanges[index]
