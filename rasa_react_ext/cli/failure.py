"""From a failure to one message and an exit code: the same for every command.

Prints nothing itself; the entry point does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import click

from rasa_react_ext.errors import ConfigurationError, ExtensionError, HostError, PeerError

__all__ = ["ExitCode", "Failure", "RefusedError", "failure_of"]


class ExitCode(IntEnum):
    """What the exit code of `rasa-react` tells a script."""

    DONE = 0
    FOUND = 1
    """The command did its work, and what it looked at is not in order."""
    USAGE = 2
    """The command line is wrong."""
    CONFIGURATION = 3
    """A file the user wrote is wrong or missing."""
    HOST = 4
    """The host is missing, untested or misses something."""
    PEER = 5
    """A server, an agent or a model is at fault."""
    SYSTEM = 6
    """The operating system refuses: a port, a file, a permission."""
    INTERNAL = 70
    """A fault of this package."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE = 141
    """Whoever reads standard output has left; as a shell tells of SIGPIPE."""


class RefusedError(click.ClickException):
    """The system refuses what a command has to write or use, whatever its reason is.

    Args:
        place: The file, folder or port.
        error: What the system says.
        fix: The next step.
        verb: What cannot be done with it.
    """

    exit_code = ExitCode.SYSTEM

    def __init__(self, place: object, error: OSError, fix: str, *, verb: str = "written") -> None:
        said = error.strerror or str(error)
        super().__init__(f"{str(place)!r} cannot be {verb}: {said}. {fix}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What to print and the code to leave with.

    Attributes:
        text: One message; it ends with the next step.
        code: The exit code.
    """

    text: str
    code: int


_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (click.Abort, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (ConfigurationError, ExitCode.CONFIGURATION),
    (HostError, ExitCode.HOST),
    (PeerError, ExitCode.PEER),
    (ExtensionError, ExitCode.FOUND),
    (FileNotFoundError, ExitCode.CONFIGURATION),
    (OSError, ExitCode.SYSTEM),
    (BaseException, ExitCode.INTERNAL),
)
"""The first type that fits decides."""


def failure_of(error: BaseException) -> Failure:
    """The message and code of an exception that ended a command."""
    if isinstance(error, click.ClickException):
        return Failure(text=_usage(error), code=error.exit_code)
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return Failure(text=_text(error, code), code=code)


def _text(error: BaseException, code: ExitCode) -> str:
    if code is ExitCode.INTERRUPTED:
        return ""
    if isinstance(error, OSError):
        said = error.strerror or str(error)
        return f"{said}: {error.filename!r}." if error.filename else f"{said}."
    if code is not ExitCode.INTERNAL:
        return str(error)
    words = " ".join(str(error).split())
    return (
        f"{type(error).__name__}: {words}\n"
        "This is a fault of rasa-react. Run again with --debug and report what it shows."
    )


def _usage(error: click.ClickException) -> str:
    text = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    return text if context is None else f"{text} See: {context.command_path} --help"
