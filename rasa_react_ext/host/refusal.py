"""Configuration errors in the form that the host tells a developer plainly.

The host passes its own kind of error on, at training and at load. Any other it
hides behind the name of a graph node, and then starts without a model.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rasa.shared.exceptions import InvalidConfigException

from rasa_react_ext.errors import ConfigurationError, HostError

__all__ = ["RefusedHostError", "RefusedProjectError", "refusing"]


class RefusedProjectError(ConfigurationError, InvalidConfigException):
    """A `ConfigurationError` that is also the host's `InvalidConfigException`."""


class RefusedHostError(HostError, InvalidConfigException):
    """A `HostError` that is also the host's `InvalidConfigException`."""


@contextmanager
def refusing() -> Generator[None]:
    """Let configuration errors of the block, and a host that does not fit, out as refusals.

    Raises:
        RefusedHostError: In place of a `HostError`.
        RefusedProjectError: In place of a `ConfigurationError`, with the same facts.
    """
    try:
        yield
    except ConfigurationError as error:
        raise RefusedProjectError(
            file=error.file, key=error.key, problem=error.problem, fix=error.fix
        ) from error
    except HostError as error:
        raise RefusedHostError(str(error)) from error
