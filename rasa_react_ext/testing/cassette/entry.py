"""One recorded exchange as its file says it: a request and the answer it got.

Owns the written form, its version and its checks; knows no folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.condition import shorten
from rasa_react_ext.testing.request import ChatRequest

__all__ = ["VERSION", "Entry", "RecordedAnswer", "RecordedRequest", "describe"]

VERSION = 1

_ODD_BREAKS = (r"\x85", r"\u2028", r"\u2029", r"\ufeff")
"""As Python shows them; YAML reads them as line breaks, or not at all, unless escaped."""


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedRequest(_Written):
    """A request, without headers.

    Attributes:
        method: HTTP method.
        path: Path below the provider's base URL, with its query.
        body: The JSON body; a text, bytes or None where it was none.
    """

    method: str = "POST"
    path: str
    body: Any = None


class RecordedAnswer(_Written):
    """What the provider answered.

    Attributes:
        status: HTTP status.
        headers: The few response headers that clients act on.
        body: The JSON body; a text or bytes where it was none.
        chunks: The events of a streamed answer, in place of `body`.
        cut: The provider dropped the connection after what is here.
    """

    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    chunks: tuple[str, ...] | None = None
    cut: bool = False


class Entry(_Written):
    """The content of one file."""

    version: Literal[1] = VERSION
    request: RecordedRequest
    answer: RecordedAnswer

    @classmethod
    def read(cls, path: Path) -> Entry:
        """Read one file.

        Raises:
            ConfigurationError: It is no entry; names file, key and fix.
        """
        try:
            written = yaml.load(path.read_text(encoding="utf-8"), _Loader)
            if written is not None:
                return cls.model_validate(written)
            key, problem = "", "the file is empty."
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "(top level)"
            problem = f"{first['msg'].rstrip('.')}."
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            key, problem = "(top level)", f"it is no YAML: {' '.join(str(error).split())}."
        raise ConfigurationError(
            file=str(path),
            key=key,
            problem=problem,
            fix="Record it again, or restore it from version control.",
        )

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        written = self.model_dump(exclude_defaults=True, mode="python")
        text = yaml.dump(
            {"version": self.version, **written},
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=not any(mark in repr(written) for mark in _ODD_BREAKS),
            width=100,
        )
        part = path.with_suffix(".part")
        part.write_text(f"# {describe(self.request)}\n{text}", encoding="utf-8")
        part.replace(path)


def describe(request: RecordedRequest) -> str:
    """A request in a few words: what the model was asked."""
    if not isinstance(request.body, dict):
        return f"{request.method} {request.path}"
    chat = ChatRequest(request.body)
    said = chat.result if chat.last_role == "tool" else chat.user
    by = f" {chat.tool!r}" if chat.tool else ""
    if not chat.messages:
        return f"{request.method} {request.path}, model {chat.model}"
    return f"{chat.last_role}{by}: {shorten(said)!r}, step {chat.step}, model {chat.model}"


class _Loader(yaml.SafeLoader):
    """Leaves what looks like a date a text, as JSON has it."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks and never refers back to equal parts."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(tuple, yaml.SafeDumper.represent_list)
