"""From an agent's config.yml to what the client needs, checked on the way."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rasa.core.available_agents import AgentConfiguration
from rasa.exceptions import ValidationError
from rasa.shared.agents.auth.agent_auth_manager import AgentAuthManager
from rasa.shared.agents.auth.utils import validate_secrets_in_params
from rasa.shared.agents.outbound_call_hook.hooks import validate_pre_call_hook_import
from rasa.shared.utils.io import resolve_environment_variables

from rasa_react_ext.a2a_client import AgentSpec
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.deadline import warn_if_clamped

if TYPE_CHECKING:
    import httpx
    from rasa.core.available_agents import AgentConfig

    from rasa_react_ext.host.settings import AgentSettings

__all__ = ["agent_spec", "auth_header", "check_push_url"]

TIMEOUT_SECONDS = 30.0
MAX_RETRIES = 5
_ASYMMETRIC = ("ES256", "ES384", "RS256", "PS256", "EdDSA")
_SECRET_FIX = "Write api_key and client_secret as ${NAME_OF_A_VARIABLE}."
_TOKEN_FIX = (
    "Write api_key: ${NAME_OF_A_VARIABLE}, which sends the same header: the host fills in the "
    "variable of token before anybody can see that there was one."
)
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SYMMETRIC = ("HS256", "HS512")


def agent_spec(config: AgentConfig, settings: AgentSettings) -> AgentSpec:
    """How the client reaches an agent.

    Raises:
        ConfigurationError: A key of config.yml is missing or wrong.
        ValidationError: The `pre_call_hook` cannot be imported (documented host behaviour).
    """
    name = config.agent.name
    configuration = config.configuration or AgentConfiguration()
    if not configuration.agent_card:
        raise _problem(
            name, "agent_card", "it is missing.", "Name the card's file or http(s) address."
        )
    _check_numbers(name, configuration)
    if configuration.pre_call_hook:
        validate_pre_call_hook_import(configuration.pre_call_hook, f"agent '{name}'")
    key = settings.card_key.get_secret_value() if settings.card_key else None
    return AgentSpec(
        name=name,
        card=str(resolve_environment_variables(configuration.agent_card)),
        timeout_seconds=float(configuration.timeout or TIMEOUT_SECONDS),
        max_retries=(
            MAX_RETRIES if configuration.max_retries is None else configuration.max_retries
        ),
        make_auth=_auth_maker(name, configuration.auth),
        card_seconds=settings.card_refresh_seconds or 3600.0,
        card_key=str(resolve_environment_variables(key)) if key else None,
        authorities=_authorities(name, settings.ca_file),
        card_algorithms=_ASYMMETRIC if key is None or _is_public(key) else _SYMMETRIC,
    )


def _is_public(key: str) -> bool:
    text = str(resolve_environment_variables(key)).lstrip()
    return text.startswith(("-----BEGIN", "{"))


def _check_numbers(name: str, configuration: AgentConfiguration) -> None:
    timeout, retries = configuration.timeout, configuration.max_retries
    if timeout is not None and timeout <= 0:
        fix = "Write seconds above 0, or remove the key for 30."
        raise _problem(name, "timeout", f"{timeout} is no time to wait.", fix)
    if retries is not None and retries < 0:
        fix = "Write 0 for a single try, or remove the key for 5 further tries."
        raise _problem(name, "max_retries", f"{retries} is below 0.", fix)
    warn_if_clamped(name, "timeout", configuration.timeout)
    warn_if_clamped(name, "max_polling_time", configuration.max_polling_time)


def _authorities(name: str, path: str | None) -> str | None:
    """The PEM text of a file of authorities, proved to be usable."""
    if path is None:
        return None
    problem = "there is no such file."
    try:
        text = Path(str(resolve_environment_variables(path))).read_text(encoding="utf-8")
        certificates = "\n".join(_CERTIFICATE.findall(text))
        if not certificates:
            raise ValueError(path)
        ssl.create_default_context(cadata=certificates)
    except FileNotFoundError as error:
        cause: Exception = error
    except (OSError, ValueError) as error:
        problem, cause = "the file holds no certificates in PEM.", error
    else:
        return certificates
    raise ConfigurationError(
        file="config.yml or endpoints.yml",
        key=f"agents: {name}: ca_file",
        problem=problem,
        fix="Give the path of a PEM file from the folder the assistant is started in.",
    ) from cause


def _auth_maker(name: str, auth: Mapping[str, Any] | None) -> Any:
    """Makes the configured scheme anew, so that a cached token is not used twice."""
    if not auth:
        return None
    settings = dict(auth)
    try:
        validate_secrets_in_params(settings, f"agent '{name}'")
    except ValidationError as error:
        raise _problem(
            name,
            "auth",
            "a secret stands there in plain text.",
            _TOKEN_FIX if "token" in settings else _SECRET_FIX,
        ) from error

    def make() -> httpx.Auth:
        manager = AgentAuthManager.load_auth(_with_address(settings))
        assert manager is not None
        return manager.get_auth()

    try:
        make()
    except Exception as error:
        raise _problem(
            name,
            "auth",
            f"it cannot be used ({type(error.__cause__ or error).__name__}).",
            "Write one of api_key, oauth (client_id, client_secret, token_url) or module.",
        ) from error
    return make


def _with_address(auth: Mapping[str, Any]) -> dict[str, Any]:
    """The same with `token_url` filled in, which the host's scheme takes as it is written."""
    oauth = auth.get("oauth")
    if not isinstance(oauth, Mapping) or not oauth.get("token_url"):
        return dict(auth)
    address = resolve_environment_variables(str(oauth["token_url"]))
    return {**auth, "oauth": {**oauth, "token_url": address}}


def auth_header(auth: Mapping[str, Any] | None) -> str | None:
    """Header that the configured credentials go into; empty where only its module knows."""
    if not auth:
        return None
    if "module" in auth:
        return ""
    return str(auth.get("header_name") or "Authorization") if "api_key" in auth else "Authorization"


def check_push_url(name: str, url: str, *, private_allowed: bool) -> None:
    """Refuse an address at which agents elsewhere could not report safely.

    Raises:
        ConfigurationError: It is no public HTTPS address, and that is not allowed.
    """
    parts = urlsplit(url)
    key = "push_notification_url"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _problem(name, key, f"{url!r} is no http(s) address.", "Write https://your.host.")
    if private_allowed or (parts.scheme == "https" and _is_public_host(parts.hostname)):
        return
    raise _problem(
        name,
        key,
        f"{url!r} is no public HTTPS address, so reports could be read on the way.",
        "Write https://your.host, or allow_private_push_url: true for this agent in the "
        "ReActPolicy entry.",
    )


def _is_public_host(host: str) -> bool:
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return True


def _problem(name: str, key: str, problem: str, fix: str) -> ConfigurationError:
    return ConfigurationError(
        file=f"sub_agents: {name}: config.yml",
        key=f"configuration: {key}",
        problem=problem,
        fix=fix,
    )
