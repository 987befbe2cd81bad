"""A model script as its author writes it: rules, conditions, answers and faults.

Owns the written form and its checks; matching and answering live elsewhere.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rasa_react_ext.errors import ConfigurationError

__all__ = ["Answer", "Call", "Fault", "ModelScript", "Rule", "When", "parse_pattern"]

_REGEX = re.compile(r"/(?P<source>.+)/(?P<flags>[ims]*)", re.DOTALL)
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def parse_pattern(text: str) -> re.Pattern[str] | str:
    """`/…/` (flags i, m, s may follow) as a regex, anything else as the plain text it is.

    Raises:
        ValueError: The text is empty or the regex is not valid.
    """
    if not text:
        raise ValueError("a pattern must not be empty")
    found = _REGEX.fullmatch(text)
    if found is None:
        return text
    flags = re.NOFLAG
    for flag in found["flags"]:
        flags |= _FLAGS[flag]
    try:
        return re.compile(found["source"], flags)
    except re.error as error:
        raise ValueError(f"{text!r} is not a valid regex: {error}") from error


def _checked(text: str) -> str:
    parse_pattern(text)
    return text


Pattern = Annotated[str, AfterValidator(_checked)]
"""A plain text (found in any letter case) or a regex between slashes."""


class _Strict(BaseModel):
    """Refuses unknown keys and names the nearest valid one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def _expand(cls, written: Any) -> Any:
        """The long form of a short one; other values as they are."""
        return written

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, written: Any) -> Any:
        written = cls._expand(written)
        if isinstance(written, Mapping):
            for key in written:
                if key not in cls.model_fields:
                    raise _unknown_key(str(key), list(cls.model_fields))
        return written


def _unknown_key(key: str, valid: Sequence[str]) -> PydanticCustomError:
    near = difflib.get_close_matches(key, valid, n=1, cutoff=0.5)
    listed = ", ".join(sorted(valid))
    fix = f"Did you mean {near[0]!r}? " if near else ""
    return PydanticCustomError(
        "unknown_key", "unknown key '{key}'.", {"key": key, "fix": f"{fix}Valid keys: {listed}."}
    )


class When(_Strict):
    """Conditions on a request; all that are given must hold."""

    user: Pattern | None = None
    tool: str | None = None
    result: Pattern | None = None
    last: Literal["system", "user", "assistant", "tool"] | None = None
    tools: tuple[str, ...] | None = None
    no_tools: bool | None = None
    tool_choice: str | None = None
    step: PositiveInt | None = None
    system: Pattern | None = None
    anywhere: Pattern | None = None
    not_anywhere: Pattern | None = None
    model: Pattern | None = None


class Call(_Strict):
    """One tool call of an answer; `arguments` as a string goes out as it is."""

    name: str
    arguments: dict[str, Any] | str | None = Field(default_factory=dict)
    id: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Usage(_Strict):
    """Token counts to report; `false` in a script reports none."""

    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None
    reported: bool = True

    @classmethod
    def _expand(cls, written: Any) -> Any:
        return {"reported": False} if written is False else written


class Stream(_Strict):
    """How an answer is cut into pieces when it is streamed."""

    chunk_chars: PositiveInt = 16
    interval_seconds: NonNegativeFloat = 0
    deltas: tuple[dict[str, Any] | str, ...] | None = None


class Answer(_Strict):
    """What the model says; a plain string in a script is its text."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    usage: Usage = Usage()
    refusal: str | None = None
    reasoning: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    delay_seconds: NonNegativeFloat = 0
    stream: Stream = Stream()
    raw: Any = None

    @classmethod
    def _expand(cls, written: Any) -> Any:
        return {"text": written} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _check_raw(self) -> Answer:
        if self.raw is not None and self.model_fields_set - {"raw", "delay_seconds"}:
            raise ValueError("'raw' is the whole body, only 'delay_seconds' may stand beside it")
        return self


class Cut(_Strict):
    """An answer whose connection is dropped in the middle."""

    answer: Answer = Answer(text="This answer is cut off before it comes to its end.")
    after_chunks: PositiveInt = 2

    @classmethod
    def _expand(cls, written: Any) -> Any:
        return {} if written is True else written


class Hang(_Strict):
    """No answer until the client leaves, or for `max_seconds`."""

    max_seconds: NonNegativeFloat = 60

    @classmethod
    def _expand(cls, written: Any) -> Any:
        if written is True:
            return {}
        return {"max_seconds": written} if isinstance(written, int | float) else written


class Malformed(_Strict):
    """A response with status 200 whose body is not valid JSON."""

    body: str = '{"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"role": "assist'

    @classmethod
    def _expand(cls, written: Any) -> Any:
        if written is True:
            return {}
        return {"body": written} if isinstance(written, str) else written


_FAULT_KINDS = ("status", "reset", "cut", "hang", "malformed", "content_filter")


class Fault(_Strict):
    """A failure instead of an answer; exactly one kind."""

    status: Annotated[int, Field(ge=200, le=599)] | None = None
    headers: dict[str, str | int | float] = Field(default_factory=dict)
    body: dict[str, Any] | list[Any] | str | None = None
    reset: Literal[True] | None = None
    cut: Cut | None = None
    hang: Hang | None = None
    malformed: Malformed | None = None
    content_filter: Literal[True] | None = None
    delay_seconds: NonNegativeFloat = 0

    @classmethod
    def _expand(cls, written: Any) -> Any:
        return {written: True} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _check_kind(self) -> Fault:
        kinds = [kind for kind in _FAULT_KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            given = ", ".join(kinds) or "none"
            raise ValueError(f"a fault is exactly one of {', '.join(_FAULT_KINDS)}; given: {given}")
        if self.status is None and (self.headers or self.body is not None):
            raise ValueError("'headers' and 'body' belong to a fault with 'status'")
        return self


class Rule(_Strict):
    """When this holds, answer that; `times` limits how often."""

    name: str | None = None
    when: When = When()
    times: PositiveInt | None = None
    answer: Answer | None = None
    answers: Annotated[tuple[Answer, ...], Field(min_length=1)] | None = None
    fault: Fault | None = None
    _source: str = PrivateAttr(default="")
    _number: int = PrivateAttr(default=0)

    @property
    def source(self) -> str:
        """Name of the file the rule was read from, for messages."""
        return self._source

    @property
    def place(self) -> str:
        """Where it stands in that file, for messages."""
        return f"rules[{self._number}]"

    def read_from(self, source: str, number: int) -> None:
        """Note where the rule stands; one that is taken into another script keeps its place."""
        if not self._number:
            self._source, self._number = source, number

    @model_validator(mode="after")
    def _check_reply(self) -> Rule:
        given = [key for key in ("answer", "answers", "fault") if getattr(self, key) is not None]
        if len(given) != 1:
            listed = ", ".join(given) or "none"
            raise ValueError(
                f"a rule has exactly one of answer, answers and fault; given: {listed}"
            )
        return self


class ModelScript(_Strict):
    """An ordered list of rules; the first that matches answers."""

    rules: tuple[Rule, ...]
    _source: str = PrivateAttr(default="script")

    @property
    def source(self) -> str:
        """Name of the file the rules were read from, for messages."""
        return self._source

    @classmethod
    def from_file(cls, path: str | Path) -> ModelScript:
        """Read a script from a YAML file.

        Raises:
            ConfigurationError: The file cannot be read, is not YAML, or says
                something a script cannot say.
        """
        try:
            written = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigurationError(
                file=str(path),
                key="rules",
                problem=f"the script cannot be read: {error}.",
                fix="Give the path of a YAML file with a list of rules.",
            ) from error
        return cls._parse(written, str(path))

    @classmethod
    def from_rules(
        cls, rules: Sequence[Mapping[str, Any] | Rule], source: str = "script"
    ) -> ModelScript:
        """Build a script from rules written as Python values.

        Args:
            rules: Each a mapping with the keys of a rule, or a `Rule`.
            source: Name used in messages.

        Raises:
            ConfigurationError: A rule says something a script cannot say.
        """
        return cls._parse({"rules": list(rules)}, source)

    @classmethod
    def _parse(cls, written: Any, source: str) -> ModelScript:
        if not isinstance(written, Mapping) or written.get("rules", ()) is None:
            empty = "the file is empty." if written is None else "there is no rule in it."
            raise ConfigurationError(
                file=source,
                key="rules",
                problem=empty,
                fix="Write a list of rules, such as `rules: [{answer: Hello.}]`.",
            )
        try:
            script = cls.model_validate(written)
        except ValidationError as error:
            raise _configuration_error(source, written, error) from error
        script._source = source
        for number, rule in enumerate(script.rules, start=1):
            rule.read_from(source, number)
        return script


def _configuration_error(source: str, written: Any, error: ValidationError) -> ConfigurationError:
    """The first problem, with its place in the author's words."""
    problems = error.errors()
    first = problems[0]
    quoted = first["type"] == "string_type" and isinstance(first["input"], bool | float | int)
    fix = first.get("ctx", {}).get("fix") or (
        "The page on testing in the package's documentation lists every key of a script."
    )
    if quoted:  # most often yes, no, on or off, which people say
        fix = f"Put it in quotes: YAML reads it as {first['input']!r}, not as words."
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    problem = first["msg"].removeprefix("Value error, ").rstrip(".") + f"{more}."
    return ConfigurationError(
        file=source, key=_place(first["loc"], written), problem=problem, fix=fix
    )


def _place(location: tuple[int | str, ...], written: Any) -> str:
    """`('rules', 1, 'when')` as `rules[2] 'name'.when`; rules are counted from 1."""
    path = ""
    for part in location:
        if isinstance(part, int):
            written = written[part] if isinstance(written, Sequence) else None
            path += f"[{part + 1}]"
            if isinstance(written, Mapping) and written.get("name"):
                path += f" {written['name']!r}"
        else:
            written = written.get(part) if isinstance(written, Mapping) else None
            path += f".{part}" if path else part
    return path or "(top level)"
