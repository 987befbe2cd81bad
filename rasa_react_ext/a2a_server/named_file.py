"""Looks at the files and keys that the settings name, as the start of the server does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.card import read_card, signing_key
from rasa_react_ext.a2a_server.grpc_port import tls_pair
from rasa_react_ext.a2a_server.seal import Seal
from rasa_react_ext.a2a_server.settings import ServerSettings
from rasa_react_ext.errors import ConfigurationError

__all__ = ["refused_files"]


def refused_files(settings: ServerSettings) -> Iterator[ConfigurationError]:
    """Every refusal of the start, in place of the first."""
    for read in _reads(settings):
        try:
            read()
        except ConfigurationError as error:
            yield error


def _reads(settings: ServerSettings) -> Iterator[Callable[[], object]]:
    card, signing, grpc = settings.agent_card_path, settings.card_signing, settings.grpc
    sealed = settings.encryption_key
    if card is not None:
        yield lambda: read_card(card)
    if signing is not None:
        yield lambda: signing_key(signing)
    yield lambda: Authenticator(settings.auth)
    if sealed is not None:
        yield lambda: Seal(sealed.get_secret_value())
    if grpc is not None:
        yield lambda: tls_pair(grpc)
