"""The scripted model, and its running server.

A real HTTP server on a loopback port; imports no model SDK and no host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.application import ModelApplication
from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.lifetime import Listener, Serving
from rasa_react_ext.testing.log import Exchange, RequestLog, Watcher
from rasa_react_ext.testing.profile import PROFILES, Profile
from rasa_react_ext.testing.reply import Player
from rasa_react_ext.testing.script import ModelScript, Rule
from rasa_react_ext.testing.served import ServedModel

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
        on_answer: Called in the server's thread when a request is over.

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
        on_answer: Watcher | None = None,
    ) -> None:
        self._script = _read(script)
        self._keep_requests = keep_requests
        self._request_log = None if request_log is None else Path(request_log)
        self._on_answer = on_answer
        self._profile = _profile(profile)
        Player(self._script)

    def serve(self, port: int = 0) -> Serving[ModelServer]:
        """A server of this model; use it with `async with` or, in a thread, with `with`.

        Each server plays the script from its beginning.

        Args:
            port: Port on the loopback interface; 0 takes a free one.
        """
        log = RequestLog(
            keep=self._keep_requests, file=self._request_log, on_answer=self._on_answer
        )
        connections = OpenConnections()
        player = Player(self._script, self._profile.sign)
        application = ModelApplication(player, self._profile, log, connections)
        return Serving(
            Listener(application.asgi(), connections, port),
            log,
            lambda url: ModelServer(application, log, url),
        )


class ModelServer(ServedModel):
    """A running scripted model: where it is, and what it was asked.

    Made by `ScriptedModel.serve()`.
    """

    def __init__(self, application: ModelApplication, log: RequestLog, url: str) -> None:
        super().__init__(log, url)
        self._application = application

    @property
    def refused(self) -> list[Exchange]:
        """The kept requests that the provider profile refused."""
        return [exchange for exchange in self.requests if exchange.refused_by is not None]

    def use(self, script: Script) -> None:
        """Go on with another script, from its beginning; the log stays.

        Raises:
            ConfigurationError: The script has a mistake.
        """
        self._application.player = Player(_read(script), self._application.profile.sign)


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
