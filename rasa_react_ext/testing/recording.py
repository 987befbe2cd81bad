"""Models that record a provider into a cassette, and that answer from one.

Owns their settings and how their servers are put together.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.cassette import Cassette, Playback, Secrets
from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.lifetime import Listener, Serving
from rasa_react_ext.testing.log import RequestLog, Watcher
from rasa_react_ext.testing.recorded import CassetteApplication
from rasa_react_ext.testing.served import ServedModel
from rasa_react_ext.testing.upstream import Upstream, base_url

__all__ = ["RecordingModel", "ReplayModel"]


class RecordingModel:
    """Passes requests on to a provider and stores them with their answers.

    Args:
        cassette: Folder for the recorded exchanges, or the cassette itself.
        upstream: Base URL of an OpenAI-compatible API, e.g. `https://api.openai.com/v1`.
        api_key: Sent to the provider in place of the client's key.
        secrets: Further values that must not be in the cassette.
        add: Whether a cassette that holds something already gets more.
        keep_requests: How many requests the log keeps.
        on_answer: Called in the server's thread when a request is over.

    Raises:
        ConfigurationError: The cassette is not empty and `add` is not set, a file in it is
            broken, or the upstream is no URL.
    """

    def __init__(
        self,
        cassette: str | Path | Cassette,
        upstream: str,
        *,
        api_key: str | None = None,
        secrets: Iterable[str] = (),
        add: bool = False,
        keep_requests: int = 1000,
        on_answer: Watcher | None = None,
    ) -> None:
        self._cassette = _cassette(cassette)
        if self._cassette.entries and not add:
            raise ConfigurationError(
                file=str(self._cassette.path),
                key="cassette",
                problem="it holds recorded exchanges already.",
                fix="Delete the folder to record anew, or record with --add (add=True).",
            )
        self._setting = _Setting(
            cassette=self._cassette,
            upstream=base_url(upstream),
            api_key=api_key,
            secrets=Secrets([*secrets, *filter(None, [api_key])]),
            keep_requests=keep_requests,
            on_answer=on_answer,
        )

    def serve(self, port: int = 0) -> Serving[ServedModel]:
        """A server that records; use it with `async with` or, in a thread, with `with`.

        Args:
            port: Port on the loopback interface; 0 takes a free one.
        """
        return self._setting.serving(None, port)


class ReplayModel:
    """Answers from a cassette.

    Args:
        cassette: Folder with the recorded exchanges, or the cassette itself.
        update: Base URL of the API that is asked, and recorded, where the cassette has no
            answer; without it such a request is refused with an explanation.
        api_key: Sent to that API in place of the client's key.
        secrets: Further values that must not be in the cassette.
        keep_requests: How many requests the log keeps.
        on_answer: Called in the server's thread when a request is over.

    Raises:
        ConfigurationError: There is no such cassette and nothing to fill it from, a file in
            it is broken, or `update` is no URL.
    """

    def __init__(
        self,
        cassette: str | Path | Cassette,
        *,
        update: str | None = None,
        api_key: str | None = None,
        secrets: Iterable[str] = (),
        keep_requests: int = 1000,
        on_answer: Watcher | None = None,
    ) -> None:
        self._cassette = _cassette(cassette)
        if not self._cassette.entries and update is None:
            raise ConfigurationError(
                file=str(self._cassette.path),
                key="cassette",
                problem="there is no recorded exchange in it.",
                fix="Check the path, or record it: rasa-react model record.",
            )
        self._setting = _Setting(
            cassette=self._cassette,
            upstream=None if update is None else base_url(update),
            api_key=api_key,
            secrets=Secrets([*secrets, *filter(None, [api_key])]),
            keep_requests=keep_requests,
            on_answer=on_answer,
        )

    def serve(self, port: int = 0) -> Serving[ServedModel]:
        """A server that replays; use it with `async with` or, in a thread, with `with`.

        Each server plays the cassette from its beginning.

        Args:
            port: Port on the loopback interface; 0 takes a free one.
        """
        playback = Playback(str(self._cassette.path), self._cassette.entries)
        return self._setting.serving(playback, port)


def _cassette(given: str | Path | Cassette) -> Cassette:
    return given if isinstance(given, Cassette) else Cassette(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What both models have in common."""

    cassette: Cassette
    upstream: str | None
    api_key: str | None
    secrets: Secrets
    keep_requests: int
    on_answer: Watcher | None

    def serving(self, playback: Playback | None, port: int) -> Serving[ServedModel]:
        """A server with a log and connections of its own."""
        log = RequestLog(keep=self.keep_requests, on_answer=self.on_answer)
        connections = OpenConnections()
        upstream = None
        if self.upstream is not None:
            upstream = Upstream(self.upstream, api_key=self.api_key)
        application = CassetteApplication(
            self.cassette,
            playback=playback,
            upstream=upstream,
            secrets=self.secrets,
            log=log,
            connections=connections,
        )
        listener = Listener(application, connections, port)
        resources = () if upstream is None else (_writable(self.cassette), upstream)
        return Serving(listener, log, lambda url: ServedModel(log, url), *resources)


@asynccontextmanager
async def _writable(cassette: Cassette) -> AsyncGenerator[None]:
    """What cannot be stored is not worth its price, so this is found out first."""
    cassette.prepare()
    yield
