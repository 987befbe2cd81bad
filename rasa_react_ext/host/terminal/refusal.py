"""Why the host refuses to load a project, in the words of `rasa-react check`.

Looks only at the files that were named for the chat, and only once the host has given up:
its own words name neither the file nor the key, and stop at the first mistake.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError
from rasa.shared.exceptions import ConnectionException, RasaException
from rasa.shared.utils.yaml import YamlValidationException

from rasa_react_ext.errors import ConfigurationError, ExtensionError, HostError, PeerError
from rasa_react_ext.host.inspection.files import Files
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.project import note_refusal
from rasa_react_ext.host.inspection.shape import check_shapes
from rasa_react_ext.host.inspection.source import Source, read_keys, read_source
from rasa_react_ext.host.inspection.written import check_written, unset_variables

__all__ = ["Named", "NotLoadedError", "refusals_placed"]

_REFUSALS = (RasaException, ValidationError, YamlValidationException)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The files that a chat was given.

    Attributes:
        endpoints: The endpoints file; it may be missing.
        sub_agents: Folder of the sub agents; it may be missing.
    """

    endpoints: Path
    sub_agents: Path


class NotLoadedError(Exception):
    """The host has not loaded a model and keeps the reason to itself; the text is the archive."""


@contextmanager
def refusals_placed(named: Named) -> Generator[None]:
    """What the host refuses while the block runs is told with file, key and fix.

    Args:
        named: The files it reads.

    Raises:
        ConfigurationError: One of the files is wrong.
        PeerError: Something that the host needs cannot be reached.
        HostError: The host has given up without a reason.
    """
    try:
        yield
    except ConfigurationError as error:
        raise _placed(named, error) from error
    except (ExtensionError, OSError):
        raise
    except (Exception, SystemExit) as error:
        found = _mistakes(named)
        if found:
            raise _refusal(found[0], others=len(found) - 1) from error
        if isinstance(error, NotLoadedError):
            raise ConfigurationError(
                file=str(error),
                key="",
                problem="the host could not load it.",
                fix="Train again with this host.",
            ) from error
        if isinstance(error, ConnectionException):
            words = " ".join(str(error).split()).rstrip(".")
            raise PeerError("host", f"{words}. Start it, or correct its address.") from error
        if isinstance(error, _REFUSALS):
            raise _refusal(_told(named, error)) from error
        if isinstance(error, SystemExit):
            raise HostError(
                "Rasa has given up while it loaded the assistant. Run again with --debug."
            ) from error
        raise


def _mistakes(named: Named) -> list[Finding]:
    """Errors that `rasa-react check` finds in the files themselves, unreadable ones first."""
    files, inspection = _files(named), Inspection()
    check_written(inspection, files)
    check_shapes(inspection, files, [name for name, _ in _unset(files)])
    return [finding for finding in inspection.findings if finding.level == "error"]


def _placed(named: Named, error: ConfigurationError) -> ConfigurationError:
    """The same with the path and, where the key is found in one of the files, its line."""
    files = replace(_files(named), config=read_source(Path("config.yml")))
    file = str(named.endpoints) if error.file == "endpoints.yml" else error.file
    found = files.refused(
        ConfigurationError(file=file, key=error.key, problem=error.problem, fix=error.fix)
    )
    return _refusal(found)


def _told(named: Named, error: BaseException) -> Finding:
    """The finding behind what the host says."""
    inspection = Inspection()
    note_refusal(inspection, _files(named), str(named.endpoints), error)
    return inspection.findings[0]


def _files(named: Named) -> Files:
    """The files as `check` reads them; what is not there is none of them."""
    folders = sorted(path for path in named.sub_agents.glob("*") if path.is_dir())
    endpoints = named.endpoints
    return Files(
        config=Source(path="config.yml"),
        endpoints=read_source(endpoints) if endpoints.is_file() else Source(path=str(endpoints)),
        credentials=Source(path="credentials.yml"),
        agents={folder.name: read_keys(folder / "config.yml") for folder in folders},
        domain=(),
        flows=(),
    )


def _unset(files: Files) -> Iterator[tuple[str, int]]:
    for source in (files.endpoints, *files.agents.values()):
        yield from unset_variables(source)


def _refusal(found: Finding, *, others: int = 0) -> ConfigurationError:
    place = f"{found.file}:{found.line}" if found.line is not None else found.file
    more = f" `rasa-react check` shows this and {others} more." if others else ""
    return ConfigurationError(
        file=place, key=found.key, problem=found.problem, fix=f"{found.fix}{more}"
    )
