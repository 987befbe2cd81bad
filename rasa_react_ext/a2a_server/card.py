"""The agent card: made of the assistant's profile and the settings, signed where a key is set."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer

from rasa_react_ext.a2a_server.port import Assistant, Profile
from rasa_react_ext.a2a_server.settings import CHANNEL, CardSigningSettings, ServerSettings
from rasa_react_ext.a2a_wire import card_from_json
from rasa_react_ext.errors import ConfigurationError

__all__ = ["Cards", "card_etag", "read_card", "signing_key"]

MODES = ("text", "text/plain", "application/json")
VERSIONS = ("1.0", "0.3")


class Cards:
    """The card of the assistant that runs now, made anew when that changes."""

    def __init__(self, settings: ServerSettings, assistant: Assistant) -> None:
        """Read what is read once.

        Raises:
            ConfigurationError: The card file or the signing key cannot be read.
        """
        self._settings = settings
        self._assistant = assistant
        self._own = (
            None if settings.agent_card_path is None else read_card(settings.agent_card_path)
        )
        self._key = None if settings.card_signing is None else signing_key(settings.card_signing)
        self._made: dict[str, tuple[Profile | None, AgentCard]] = {}
        self._making = asyncio.Lock()

    async def public(self, base_url: str) -> AgentCard:
        """The card for everybody.

        Args:
            base_url: Where the request came to, used where no `url` is set.

        Raises:
            HostError: No model is loaded.
        """
        profile = None if self._own is not None else await self._assistant.profile()
        url = (self._settings.url or base_url).rstrip("/")
        known = self._made.get(url)
        if known is None or known[0] != profile:
            async with self._making:
                card = self._make(url, profile)
            if len(self._made) > 16:
                self._made.clear()
            self._made[url] = known = (profile, card)
        copy = AgentCard()
        copy.CopyFrom(known[1])
        return copy

    async def extended(self, base_url: str) -> AgentCard:
        """The card for callers that have proven who they are: the same, and says so."""
        return await self.public(base_url)

    def _make(self, url: str, profile: Profile | None) -> AgentCard:
        card = AgentCard()
        if self._own is not None:
            card.CopyFrom(self._own)
        elif profile is not None:
            self._describe(card, url, profile)
        self._secure(card)
        signing = self._settings.card_signing
        if signing is not None and self._key is not None:
            header = ProtectedHeader(
                kid=signing.key_id, alg=signing.algorithm, jku=signing.jwks_url, typ="JOSE"
            )
            create_agent_card_signer(self._key, _without_none(header))(card)
        return card

    def _describe(self, card: AgentCard, url: str, profile: Profile) -> None:
        card.name = profile.name
        card.description = self._settings.description
        card.version = profile.version
        card.supported_interfaces.extend(self._interfaces(url))
        card.capabilities.CopyFrom(
            AgentCapabilities(
                streaming=True,
                push_notifications=self._settings.push_notifications_enabled,
                extended_agent_card=self._settings.auth is not None,
            )
        )
        card.default_input_modes.extend(MODES)
        card.default_output_modes.extend(MODES)
        for skill in profile.skills:
            card.skills.append(
                AgentSkill(
                    id=skill.id, name=skill.name, description=skill.description, tags=[skill.id]
                )
            )

    def _interfaces(self, url: str) -> list[AgentInterface]:
        below = self._settings.path.rstrip("/")
        base = f"{url}{below}"
        interfaces = [
            AgentInterface(protocol_binding=binding, protocol_version=version, url=address)
            for binding, address in (("JSONRPC", f"{base}/"), ("HTTP+JSON", base))
            for version in VERSIONS
        ]
        grpc = self._settings.grpc
        if grpc is not None:
            address = grpc.url or f"{grpc.interface}:{grpc.port}"
            interfaces += [
                AgentInterface(protocol_binding="GRPC", protocol_version=version, url=address)
                for version in VERSIONS
            ]
        return interfaces

    def _secure(self, card: AgentCard) -> None:
        """Declare the ways in that are in force; either is enough."""
        auth = self._settings.auth
        if auth is None or card.security_schemes:
            return
        schemes: dict[str, SecurityScheme] = {}
        if auth.jwt is not None:
            bearer = HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT")
            schemes["bearer"] = SecurityScheme(http_auth_security_scheme=bearer)
        if auth.api_key is not None:
            key = APIKeySecurityScheme(location="header", name=auth.api_key.header)
            schemes["api_key"] = SecurityScheme(api_key_security_scheme=key)
        for name, scheme in schemes.items():
            card.security_schemes[name].CopyFrom(scheme)
            card.security_requirements.append(SecurityRequirement(schemes={name: StringList()}))


def card_etag(body: bytes) -> str:
    """The entity tag of a card as served."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def read_card(path: str) -> AgentCard:
    """A card of the project's own.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return card_from_json(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: agent_card_path",
            problem=f"no card could be read from {path!r}: {error}.",
            fix="Write the path of an agent card, or remove the key to have one made.",
        ) from error


def signing_key(signing: CardSigningSettings) -> bytes:
    """The key that signs the card.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return Path(signing.private_key_path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: card_signing: private_key_path",
            problem=f"no key could be read from {signing.private_key_path!r}.",
            fix="Write the path of a PEM file with the private key.",
        ) from error


def _without_none(header: ProtectedHeader) -> ProtectedHeader:
    if header["jku"] is None:
        del header["jku"]  # pyright: ignore[reportGeneralTypeIssues] - optional in the standard
    return header
