"""A cassette: a folder with one YAML file per recorded exchange.

One file each, named by its place in the recording and what was asked, so that two branches
that record different things never touch the same file.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryFile

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.cassette.entry import Entry
from rasa_react_ext.testing.cassette.normal import Normal

__all__ = ["Cassette"]

_NAME = re.compile(r"(\d+)-[0-9a-f]{8}\.yml")


class Cassette:
    """The recorded exchanges in a folder.

    Args:
        path: The folder; it need not exist before something is recorded.

    Raises:
        ConfigurationError: The path is a file, or a file in the folder is no recorded exchange.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise ConfigurationError(
                file=str(self.path),
                key="cassette",
                problem="a cassette is a folder, and this is a file.",
                fix="Name another folder.",
            )
        files = sorted(self.path.glob("*.yml"), key=_place)
        self._entries = {file.name: Entry.read(file) for file in files}
        self._last = max(map(_place, files), default=0)

    @property
    def entries(self) -> dict[str, Entry]:
        """The exchanges by file name, in the order they were recorded; a copy."""
        return dict(self._entries)

    def prepare(self) -> None:
        """Make the folder and see that files can be written there.

        Raises:
            OSError: They cannot.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=self.path):
            pass

    def take_place(self) -> int:
        """The place of the next exchange, kept free for it."""
        self._last += 1
        return self._last

    def add(self, entry: Entry, place: int) -> str:
        """Store an exchange at its place.

        Args:
            entry: The exchange, without secrets.
            place: What `take_place()` gave when the request came.

        Returns:
            The name of the file.

        Raises:
            OSError: The file cannot be written.
        """
        request = entry.request
        key = Normal(method=request.method, path=request.path, body=request.body).key
        name = f"{place:03}-{key[:8]}.yml"
        self.path.mkdir(parents=True, exist_ok=True)
        entry.write(self.path / name)
        self._entries[name] = entry
        return name


def _place(file: Path) -> int:
    found = _NAME.fullmatch(file.name)
    return int(found[1]) if found else 0
