"""Which host this package was tested with, and the refusal of any other.

Reads installed versions from package metadata only, so it is quick and imports no host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from rasa_react_ext.errors import HostError

__all__ = ["OVERRIDE", "TESTED_HOST", "check_host", "host_is_tested", "installed_versions"]

TESTED_HOST = "3.21"
"""The host's minor release that the tests run with; its patch releases are accepted."""

OVERRIDE = "RASA_REACT_EXT_ANY_HOST"
"""Environment variable that, set to 1, lets any host through."""

_SHOWN = ("rasa-react-ext", "rasa-pro", "mcp", "a2a-sdk")


def host_is_tested(host: str) -> bool:
    """Whether a version of the host belongs to the tested release."""
    return re.match(r"\d+\.\d+", host + ".") is not None and host.split(".")[:2] == (
        TESTED_HOST.split(".")
    )


def installed_versions() -> dict[str, str | None]:
    """Versions of this package, the host and the protocol packages; None where not installed."""
    return {name: _version(name) for name in _SHOWN}


def check_host(environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a host that is missing or that this package was not tested with.

    Args:
        environment: Where `RASA_REACT_EXT_ANY_HOST` is looked up.

    Raises:
        HostError: Names both versions and the way to override.
    """
    host = _version("rasa-pro")
    if host is None:
        raise HostError(f"Rasa Pro is not installed. Install rasa-pro {TESTED_HOST}.")
    if not host_is_tested(host) and environment.get(OVERRIDE) != "1":
        raise HostError(
            f"Rasa Pro {host} is installed; this release was tested with {TESTED_HOST}.x. "
            f"Install that, or set {OVERRIDE}=1 to go on at your own risk."
        )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
