"""Prompt templates: compiled once, rendered in a sandbox.

Values are data and are never rendered again (case B102). A template comes from a
project file or is one of ours under `templates/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from jinja2 import ChainableUndefined, Template, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from rasa_react_ext.errors import ConfigurationError

__all__ = ["KNOWN_VARIABLES", "OLDER_VARIABLES", "check", "default_template", "render", "uses"]

KNOWN_VARIABLES = frozenset(
    {
        "current_datetime",
        "description",
        "enable_filler_messages",
        "restarted",
        "resumed_after_interruption",
        "resumed_last_request",
        "slot_names",
        "slots",
    }
)
OLDER_VARIABLES = frozenset({"conversation_history", "recipient_id", "user_message"})


class _Absent(ChainableUndefined):
    """A value that is not there: it, its parts and what its methods return are nothing."""

    __slots__ = ()

    def __call__(self, *_args: object, **_named: object) -> _Absent:
        return self


_environment = SandboxedEnvironment(
    undefined=_Absent,
    autoescape=False,
    finalize=lambda value: "" if value is None else value,
)


@lru_cache(maxsize=64)
def default_template(kind: str) -> str:
    """Our template for an `open` or a `task` agent."""
    place = resources.files("rasa_react_ext.engine") / "templates" / f"{kind}.jinja2"
    return place.read_text(encoding="utf-8")


def render(source: str, variables: Mapping[str, Any]) -> str:
    """Render a template with the given variables.

    Unknown names, missing parts, what their methods would return, and None render
    as nothing (case B103).

    Raises:
        ConfigurationError: The template fails on these values, e.g. it adds a number
            to a text.
    """
    try:
        return _compiled(source).render(variables)
    except Exception as error:
        raise ConfigurationError(
            file="prompt_template",
            key=_first_line(source),
            problem=f"it cannot be rendered ({type(error).__name__}: {error}).",
            fix="Guard the expression with {% if … %}.",
        ) from error


def check(source: str, *, file: str) -> frozenset[str]:
    """Compile a template and tell which variables it uses that nobody provides.

    Raises:
        ConfigurationError: The template has a syntax error; names file and line.
    """
    tree = _parsed(source, file)
    return frozenset(meta.find_undeclared_variables(tree)) - KNOWN_VARIABLES - OLDER_VARIABLES


def _parsed(source: str, file: str) -> nodes.Template:
    try:
        return _environment.parse(source)
    except TemplateSyntaxError as error:
        raise ConfigurationError(
            file=file,
            key=f"line {error.lineno}",
            problem=f"{error.message}.",
            fix="Correct the Jinja2 syntax there.",
        ) from error


@lru_cache(maxsize=256)
def uses(source: str) -> frozenset[str]:
    """The variables a template mentions.

    Raises:
        ConfigurationError: The template has a syntax error; names the line.
    """
    return frozenset(meta.find_undeclared_variables(_parsed(source, "prompt_template")))


@lru_cache(maxsize=256)
def _compiled(source: str) -> Template:
    return _environment.from_string(source)


def _first_line(source: str) -> str:
    return repr(source.strip().splitlines()[0][:60]) if source.strip() else "(empty)"
