"""The scripted model, and its running server as tests see it.

A real HTTP server on a loopback port; imports no model SDK and no host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.application import ModelApplication
from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.lifetime import Listener, Serving
from rasa_react_ext.testing.log import Exchange, RequestLog
from rasa_react_ext.testing.profile import PROFILES, Profile
from rasa_react_ext.testing.reply import Player
from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import ModelScript, Rule

__all__ = ["ModelServer", "Script", "ScriptedModel"]

Script = ModelScript | Sequence[Mapping[str, Any] | Rule] | str | Path
"""A script, the path of a YAML file with one, or a list of rules."""


class ScriptedModel:
    """A model that answers by a script.

    Args:
        script: A `ModelScript`, the path of a YAML script, or a list of rules.
        profile: Name of a provider profile; requests that provider would refuse are refused.
        keep_requests: How many requests the log keeps.
        request_log: File that gets one JSON line per finished request.

    Raises:
        ConfigurationError: The script has a mistake, or there is no such profile.
    """

    def __init__(
        self,
        script: Script,
        *,
        profile: str = "lenient",
        keep_requests: int = 1000,
        request_log: str | Path | None = None,
    ) -> None:
        self._script = _read(script)
        self._keep_requests = keep_requests
        self._request_log = None if request_log is None else Path(request_log)
        self._profile = _profile(profile)
        Player(self._script)

    def serve(self, port: int = 0) -> Serving[ModelServer]:
        """A server of this model; use it with `async with` or, in a thread, with `with`.

        Each server plays the script from its beginning.

        Args:
            port: Port on the loopback interface; 0 takes a free one.
        """
        log = RequestLog(keep=self._keep_requests, file=self._request_log)
        connections = OpenConnections()
        player = Player(self._script, self._profile.sign)
        application = ModelApplication(player, self._profile, log, connections)
        return Serving(
            Listener(application.asgi(), connections, port),
            log,
            lambda url: ModelServer(application, log, url),
        )


class ModelServer:
    """A running scripted model: where it is, and what it was asked.

    Made by `ScriptedModel.serve()`.
    """

    def __init__(self, application: ModelApplication, log: RequestLog, url: str) -> None:
        self._application = application
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
        """The requests for which the script had no answer."""
        return self._log.unmatched

    @property
    def refused(self) -> list[Exchange]:
        """The kept requests that the provider profile refused."""
        return [exchange for exchange in self.requests if exchange.refused_by is not None]

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

    def use(self, script: Script) -> None:
        """Go on with another script, from its beginning; the log stays.

        Raises:
            ConfigurationError: The script has a mistake.
        """
        self._application.player = Player(_read(script), self._application.profile.sign)

    def clear(self) -> None:
        """Forget the log; the script goes on where it is."""
        self._log.clear()

    async def wait_until(
        self, holds: Callable[[ModelServer], bool], timeout_seconds: float = 5
    ) -> None:
        """Wait until a condition on the log holds, e.g. that three requests came.

        Raises:
            TimeoutError: It did not hold in time.
        """
        await self._log.wait_until(lambda: holds(self), timeout_seconds)

    def _exchange(self, index: int) -> Exchange:
        exchanges = self._log.exchanges
        if not exchanges:
            raise LookupError("the scripted model was not asked anything yet")
        return exchanges[index]


def _read(script: Script) -> ModelScript:
    if isinstance(script, ModelScript):
        return script
    if isinstance(script, str | Path):
        return ModelScript.from_file(script)
    return ModelScript.from_rules(script)


def _profile(name: str) -> Profile:
    if name in PROFILES:
        return PROFILES[name]
    raise ConfigurationError(
        file="ScriptedModel",
        key="profile",
        problem=f"there is no provider profile {name!r}.",
        fix=f"Profiles: {', '.join(PROFILES)}.",
    )
