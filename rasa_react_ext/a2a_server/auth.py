"""Who calls: API keys and bearer tokens, checked without telling what was wrong."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
import structlog

from rasa_react_ext.a2a_server.call import Call
from rasa_react_ext.a2a_server.key_set import KeySet
from rasa_react_ext.a2a_server.settings import (
    CHANNEL,
    SYMMETRIC,
    ApiKeySettings,
    AuthSettings,
    JwtSettings,
)
from rasa_react_ext.errors import ConfigurationError

__all__ = ["Authenticator"]

_log = structlog.get_logger()
NAME_CLAIMS = ("sub", "preferred_username", "client_id")
UNNAMED = "orchestrator"
NAME_LIMIT = 200


class Authenticator:
    """Finds the caller of a request; lets everybody in where nothing is configured."""

    def __init__(self, settings: AuthSettings | None) -> None:
        """Read the keys.

        Raises:
            ConfigurationError: A key file cannot be read or holds no key.
        """
        self._keys = settings.api_key if settings is not None else None
        jwt_settings = settings.jwt if settings is not None else None
        self._tokens = None if jwt_settings is None else _Tokens(jwt_settings)
        self.open = settings is None

    async def caller(self, headers: Mapping[str, str], call: Call) -> bool:
        """Find out who calls; False if it cannot be told.

        Args:
            headers: The request's headers, names in lower case.
            call: Takes the caller.
        """
        if self.open:
            return True
        name = _by_key(self._keys, headers) if self._keys is not None else None
        if name is None and self._tokens is not None:
            name = await self._tokens.caller(headers.get("authorization", ""))
        if name is None:
            return False
        call.caller, call.authenticated = name, True
        return True

    @property
    def challenge(self) -> str:
        """How to prove who one is, for the `WWW-Authenticate` header."""
        return "Bearer" if self._tokens is not None else "ApiKey"


class _Tokens:
    def __init__(self, settings: JwtSettings) -> None:
        self._settings = settings
        self._key_set = KeySet(settings.jwks_url) if settings.jwks_url is not None else None
        self._key = None if self._key_set is not None else _static_key(settings)

    async def caller(self, authorization: str) -> str | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        try:
            return _name(await self._claims(token.strip()))
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            _log.debug("rasa_react_ext.a2a_server.token_refused", reason=str(error))
            return None

    async def _claims(self, token: str) -> dict[str, Any]:
        key = self._key
        if self._key_set is not None:
            key = await self._key_set.key(jwt.get_unverified_header(token).get("kid"))
        if key is None:
            raise jwt.InvalidKeyError("no key for this token")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[self._settings.algorithm],
            issuer=self._settings.issuer,
            audience=self._settings.audience,
            leeway=self._settings.leeway_seconds,
            options={
                "require": ["exp"],
                "verify_aud": self._settings.audience is not None,
                "verify_iss": self._settings.issuer is not None,
            },
        )
        return claims


def _name(claims: Mapping[str, Any]) -> str:
    for claim in NAME_CLAIMS:
        value = claims.get(claim)
        if isinstance(value, str) and value.strip():
            name = value.strip().replace("\x00", "")
            if len(name) <= NAME_LIMIT:
                return name
            return f"#{hashlib.sha256(name.encode()).hexdigest()}"
    return UNNAMED


def _by_key(settings: ApiKeySettings, headers: Mapping[str, str]) -> str | None:
    given = _digest(headers.get(settings.header.lower(), ""))
    found = None
    # All are compared, so that the time taken tells nothing.
    for name, key in settings.keys.items():
        if hmac.compare_digest(_digest(key.get_secret_value()), given):
            found = name
    return found


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()


def _static_key(settings: JwtSettings) -> Any:
    if settings.algorithm in SYMMETRIC:
        return settings.secret.get_secret_value() if settings.secret is not None else None
    path = settings.public_key_path or ""
    try:
        pem = Path(path).read_text(encoding="utf-8")
        return jwt.get_algorithm_by_name(settings.algorithm).prepare_key(pem)
    except (OSError, ValueError, TypeError, jwt.PyJWTError) as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: auth: jwt: public_key_path",
            problem=f"no {settings.algorithm} public key could be read from {path!r}.",
            fix="Write the path of a PEM file with the issuer's public key.",
        ) from error
