"""How one MCP server is reached, and what makes two sessions the same.

Pure values: no connection is opened here and no secret is ever printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import httpx

__all__ = ["Offer", "ServerSpec", "SessionKey", "Transport"]

Transport = Literal["http", "sse", "stdio"]
Offer = Literal["elicitation", "sampling"]
_ALL: frozenset[Offer] = frozenset({"elicitation", "sampling"})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionKey:
    """Server, credentials and what it may ask: equal keys share one session."""

    transport: Transport
    address: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]
    env: tuple[tuple[str, str], ...]
    cwd: str | None
    tls: tuple[bool, str | None, str | None, str | None]
    credentials: str
    offers: frozenset[Offer]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One MCP server as the project names it.

    Attributes:
        name: Name of the server in the project; shown to the model and in logs.
        transport: `http` (streamable HTTP), `sse` or `stdio`.
        url: Endpoint of an `http` or `sse` server.
        headers: Headers of every request; values may be secret and are never printed.
        command: Program of a `stdio` server.
        args: Its arguments.
        env: Variables added to the small inherited environment of the child.
        cwd: Working directory of the child; None means that of this process.
        auth: Signs each request and renews tokens; None means no authentication.
        credentials_key: Tells one set of credentials from another without being one,
            e.g. a hash or the name of the settings block. Required with `auth`.
        connect_timeout_seconds: Time one attempt to open a session may take.
        max_retries: Further attempts after the first of one connect or reconnect;
            0 means one try.
        verify: Whether the server's certificate is checked.
        ca_file: PEM file of trusted authorities; None means the usual ones.
        client_cert_file: PEM file of the certificate that identifies this client.
        client_key_file: PEM file of its key, when it is not in the same file.
        offers: What the server may ask during a call, as far as there are callbacks for
            it; it is told so when the session is opened.

    Raises:
        ValueError: The parts do not fit together; the text says what to set.
    """

    name: str
    transport: Transport = "http"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    auth: httpx.Auth | None = field(default=None, repr=False)
    credentials_key: str = field(default="", repr=False)
    connect_timeout_seconds: float = 10.0
    max_retries: int = 3
    verify: bool = True
    ca_file: str | None = None
    client_cert_file: str | None = None
    client_key_file: str | None = None
    offers: frozenset[Offer] = _ALL

    def __post_init__(self) -> None:
        if self.transport == "stdio":
            if not self.command:
                raise ValueError(f"MCP server {self.name!r}: a stdio server needs a command.")
        elif httpx.URL(self.url).scheme not in {"http", "https"}:
            raise ValueError(f"MCP server {self.name!r}: set url to an http or https address.")
        if self.auth is not None and not self.credentials_key:
            raise ValueError(
                f"MCP server {self.name!r}: auth needs a credentials_key, so that sessions "
                "of different credentials are never shared."
            )
        if self.max_retries < 0 or self.connect_timeout_seconds <= 0:
            raise ValueError(
                f"MCP server {self.name!r}: max_retries must be 0 or more and "
                "connect_timeout_seconds above 0."
            )

    @property
    def key(self) -> SessionKey:
        """Identity of the session this server needs; names and limits play no part."""
        return SessionKey(
            transport=self.transport,
            address=(self.url,) if self.transport != "stdio" else (self.command, *self.args),
            headers=tuple(sorted(self.headers.items())),
            env=tuple(sorted(self.env.items())),
            cwd=self.cwd,
            tls=(self.verify, self.ca_file, self.client_cert_file, self.client_key_file),
            credentials=self.credentials_key,
            offers=self.offers,
        )
