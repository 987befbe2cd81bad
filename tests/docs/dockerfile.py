"""What a line of `docker` on a page runs inside of the image."""

from __future__ import annotations

from dataclasses import replace

from tests.docs.page import Line

__all__ = ["IMAGE", "command_of"]

IMAGE = "my-assistant"
"""Name of the image on the pages."""

ENTRY_POINT = "rasa"
"""What the image of the host begins with."""

_WITH_VALUE = {"-e", "-p", "-v", "--entrypoint", "-t"}
_FLAGS = {"--rm"}


def command_of(line: Line) -> Line | None:
    """The command inside; None for a line that builds the image."""
    _, action, *words = line.words
    given: dict[str, str] = {}
    while words and words[0].startswith("-"):
        option = words.pop(0)
        assert option in _WITH_VALUE | _FLAGS, line.text
        given[option] = words.pop(0) if option in _WITH_VALUE else ""
    if action == "build":
        assert (given["-t"], words) == (IMAGE, ["."])
        return None
    assert action == "run"
    assert words.pop(0) == IMAGE
    program = given.get("--entrypoint", ENTRY_POINT)
    return replace(line, words=(program, *words), text=" ".join((program, *words)))
