"""Settings of the A2A server: the channel's entry in credentials.yml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    model_validator,
)

from rasa_react_ext.a2a_server.variable import refuse_misspelt
from rasa_react_ext.explain.setting import refusal

__all__ = ["ALGORITHMS", "CHANNEL", "HOST_KEYS", "JwtSettings", "ServerSettings", "read_settings"]

CHANNEL = "rasa_react_ext.channels.A2AServer"
FILE = "credentials.yml"
SYMMETRIC = ("HS256", "HS512")
ALGORITHMS = (*SYMMETRIC, "RS256", "RS512", "ES256", "ES512", "PS256")
"""Algorithms of bearer tokens, those the host documents."""

HOST_KEYS = (
    "url",
    "agent_card_path",
    "description",
    "task_timeout_seconds",
    "a2a_message_cache_ttl_seconds",
    "max_contexts",
    "push_notifications_enabled",
    "push_notification_allowed_hosts",
    "include_conversation_repair",
    "auth",
)
"""Keys of the host's own `a2a_server` block; they mean the same here."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JwtSettings(_Strict):
    """How bearer tokens are checked."""

    algorithm: str = Field(default="RS256", description=f"One of {', '.join(ALGORITHMS)}.")
    public_key_path: str | None = Field(default=None, description="PEM file of the public key.")
    jwks_url: str | None = Field(
        default=None, description="Address of the issuer's key set; keys are fetched anew as needed"
    )
    secret: SecretStr | None = Field(default=None, description="Shared secret, for HS256 and HS512")
    issuer: str | None = Field(default=None, description="Demanded `iss`.")
    audience: str | None = Field(default=None, description="Demanded `aud`.")
    leeway_seconds: float = Field(default=30, ge=0, le=600, description="Clock difference allowed.")

    @model_validator(mode="after")
    def _has_its_key(self) -> JwtSettings:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}")
        if self.algorithm in SYMMETRIC:
            if self.secret is None or not self.secret.get_secret_value():
                raise ValueError(f"{self.algorithm} needs `secret`")
        elif (self.public_key_path is None) == (self.jwks_url is None):
            raise ValueError(f"{self.algorithm} needs `public_key_path` or `jwks_url`, one of them")
        return self


class ApiKeySettings(_Strict):
    """API keys, each naming its caller."""

    header: str = Field(default="X-API-Key", min_length=1, description="Header that carries it.")
    keys: dict[str, SecretStr] = Field(min_length=1, description="Key of each caller, by its name.")


class AuthSettings(_Strict):
    """Who may call; either way is enough where both are set."""

    type: Literal["bearer", "api_key"] | None = Field(
        default=None, description="As in the host's block; which keys are set decides."
    )
    jwt: JwtSettings | None = Field(default=None, description="Bearer tokens.")
    api_key: ApiKeySettings | None = Field(default=None, description="API keys.")

    @model_validator(mode="after")
    def _has_a_way(self) -> AuthSettings:
        if self.jwt is None and self.api_key is None:
            raise ValueError("set `jwt`, `api_key` or both")
        return self


class CardSigningSettings(_Strict):
    """Key that signs the card."""

    private_key_path: str = Field(description="PEM file of the private key.")
    algorithm: Literal["RS256", "RS512", "ES256", "ES512", "PS256"] = Field(
        default="ES256", description="Algorithm of the signature; fits the key."
    )
    key_id: str = Field(min_length=1, description="`kid` by which callers find the public key.")
    jwks_url: str | None = Field(default=None, description="`jku`: where callers find it.")


class GrpcSettings(_Strict):
    """A second port for gRPC."""

    port: int = Field(ge=1, le=65535, description="The port; workers of one machine share it.")
    interface: str = Field(default="127.0.0.1", description="Address it is bound to.")
    url: str | None = Field(default=None, description="host:port for the card; else made of these.")
    certificate_path: str | None = Field(default=None, description="PEM chain; with the key: TLS.")
    private_key_path: str | None = Field(default=None, description="PEM private key.")

    @model_validator(mode="after")
    def _is_encrypted_or_not(self) -> GrpcSettings:
        if (self.certificate_path is None) != (self.private_key_path is None):
            raise ValueError("TLS needs both `certificate_path` and `private_key_path`")
        return self


class ServerSettings(_Strict):
    """The channel's entry; the first ten keys are those of the host's block."""

    url: str | None = Field(
        default=None, description="Public base address. Default: what the request was sent to."
    )
    agent_card_path: str | None = Field(default=None, description="A card of your own, JSON.")
    description: str = Field(min_length=1, description="What the card says the assistant is for.")
    task_timeout_seconds: int = Field(
        default=600, ge=0, description="Longest turn, then the task is canceled; 0: any."
    )
    a2a_message_cache_ttl_seconds: int | None = Field(
        default=None, ge=0, description="How long a message id is remembered. Default: the timeout."
    )
    max_contexts: int = Field(
        default=1000, ge=0, description="Contexts with an open task at once; 0: any number."
    )
    push_notifications_enabled: bool = Field(
        default=False, description="Whether callers may have changes pushed to them."
    )
    push_notification_allowed_hosts: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Hosts, with their subdomains, that may be pushed."
    )
    include_conversation_repair: bool = Field(
        default=True,
        description="Whether repair patterns are skills and speak to the user; else what they "
        "say is in the data part alone.",
    )
    auth: AuthSettings | None = Field(
        default=None, description="Who may call. Default: everybody, as one caller."
    )
    card_requires_auth: bool = Field(default=False, description="Whether the card is private too.")
    card_signing: CardSigningSettings | None = Field(
        default=None, description="Key that signs the card."
    )
    raw_sender_ids: bool = Field(
        default=False, description="Conversations named by the context id alone, as the host does."
    )
    controlled_slots: tuple[str, ...] = Field(
        default=(), description="Controlled slots that callers may bring and see."
    )
    input_required_ttl_seconds: PositiveInt | None = Field(
        default=None, description="When an unanswered task is canceled. Default: never."
    )
    background_ttl_seconds: PositiveInt = Field(
        default=3900, description="When background work that never reported counts as failed."
    )
    lease_seconds: PositiveFloat = Field(
        default=10, description="How long a worker may be silent until its tasks count as failed."
    )
    task_retention_seconds: PositiveInt = Field(
        default=7 * 24 * 3600, description="How long tasks that ended can be read."
    )
    max_body_bytes: PositiveInt = Field(default=10 * 1024 * 1024, description="Largest request.")
    rate_limit_per_minute: int = Field(
        default=0, ge=0, description="Requests of one caller to one worker; 0: any number."
    )
    push_attempts: PositiveInt = Field(
        default=10, description="Attempts before a push is given up."
    )
    push_allow_private_addresses: bool = Field(
        default=False,
        description="Whether hosts of the allow-list may have private addresses.",
    )
    encryption_key: SecretStr | None = Field(
        default=None, description="Fernet key for push credentials in the database."
    )
    path: str = Field(default="/", pattern=r"^/", description="Path below which all is served.")
    grpc: GrpcSettings | None = Field(default=None, description="A second port for gRPC.")

    @property
    def remembered_seconds(self) -> float:
        """How long the answer to a message id is kept."""
        if self.a2a_message_cache_ttl_seconds is not None:
            return float(self.a2a_message_cache_ttl_seconds)
        return float(self.task_timeout_seconds or 600)

    @model_validator(mode="after")
    def _fits(self) -> ServerSettings:
        if self.push_allow_private_addresses and not self.push_notification_allowed_hosts:
            raise ValueError(
                "push_allow_private_addresses needs push_notification_allowed_hosts beside it"
            )
        return self


def read_settings(entry: Mapping[str, Any] | None) -> ServerSettings:
    """Validate the channel's entry.

    Raises:
        ConfigurationError: A key is unknown, a value does not fit, or it names an
            environment variable in a form that nobody fills in.
    """
    refuse_misspelt(entry, FILE, CHANNEL)
    try:
        return ServerSettings.model_validate(dict(entry or {}))
    except ValidationError as error:
        raise refusal(error, ServerSettings, file=FILE, place=CHANNEL) from error
