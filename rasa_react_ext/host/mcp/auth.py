"""Authentication of MCP requests, from the keys the host documents for a server.

`api_key`, `token` and `module` are made by the host; `oauth` is ours, so that parallel
calls share a renewal and a refused token is renewed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rasa.shared.agents.auth.agent_auth_manager import AgentAuthManager
from rasa.shared.agents.auth.types import AgentAuthType
from rasa.shared.utils.io import resolve_environment_variables

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.mcp_pool import ClientCredentials

if TYPE_CHECKING:
    import httpx

__all__ = ["server_auth"]

_FORMS = "api_key (with header_name and header_format), token, oauth or module"
_REQUIRED = ("token_url", "client_id", "client_secret")


def server_auth(server: str, params: Mapping[str, Any] | None) -> httpx.Auth | None:
    """What signs the requests to a server; None when nothing is configured.

    Args:
        server: Name of the server.
        params: The keys of its entry in endpoints.yml that the host reads as
            authentication, with `${VARIABLES}` as they are written.

    Raises:
        ConfigurationError: They are no authentication, or part of it is missing.
    """
    if not params:
        return None
    given = dict(params)
    try:
        kind = AgentAuthManager.detect_auth_type(given)
    except ValueError as error:
        raise _wrong(
            server,
            f"{', '.join(map(repr, given))} is no authentication; the host reads nothing else.",
            f"Write {_FORMS}, or the key under `rasa_react_ext: mcp_servers: {server}`.",
        ) from error
    if kind is AgentAuthType.OAUTH2:
        return _client_credentials(server, given["oauth"])
    try:
        manager = AgentAuthManager.load_auth(given)
    except Exception as error:  # a project's own scheme may raise anything, with secrets in it
        cause = type(error.__cause__ or error).__name__
        raise _wrong(
            server, f"the authentication cannot be made ({cause}).", f"Write {_FORMS}."
        ) from error
    return manager.get_auth() if manager is not None else None


def _client_credentials(server: str, written: object) -> ClientCredentials:
    """OAuth 2.0 client credentials (RFC 6749, section 4.4) with the host's keys."""
    given = resolve_environment_variables(dict(written) if isinstance(written, Mapping) else {})
    assert isinstance(given, dict)
    missing = [key for key in _REQUIRED if not given.get(key)]
    if missing:
        raise _wrong(server, f"oauth lacks {', '.join(missing)}.", "Add what is missing.")
    timeout = given.get("timeout")
    return ClientCredentials(
        token_url=str(given["token_url"]),
        client_id=str(given["client_id"]),
        client_secret=str(given["client_secret"]),
        scope=given.get("scope"),
        audience=given.get("audience"),
        **({"timeout_seconds": float(timeout)} if timeout else {}),
    )


def _wrong(server: str, problem: str, fix: str) -> ConfigurationError:
    return ConfigurationError(
        file="endpoints.yml", key=f"mcp_servers: {server}", problem=problem, fix=fix
    )
