"""One field of a form: what it may hold, and how a person's words become its value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from rasa_react_ext.host.mcp.words import plain, verdict

if TYPE_CHECKING:
    from rasa_react_ext.host.mcp.settings import ElicitationWords

__all__ = ["Field", "MisfitError", "fields_of"]

Kind = Literal["string", "number", "integer", "boolean", "choice", "choices"]
_NUMBER = re.compile(r"([+-]?\d+)(?:([.,])(\d+))?")
_THOUSANDS = 3
OPTIONS_NAMED = 30
_LIMITS = {
    "minimum": "at_least",
    "exclusiveMinimum": "more_than",
    "maximum": "at_most",
    "exclusiveMaximum": "less_than",
    "minLength": "too_short",
    "maxLength": "too_long",
    "minItems": "too_few",
    "maxItems": "too_many",
    "format": "wrong_format",
}


class MisfitError(Exception):
    """A message does not fit its field.

    Args:
        key: Which text of the settings says so.
        value: What the text is filled with.
    """

    def __init__(self, key: str, value: str = "") -> None:
        super().__init__(key)
        self._key = key
        self._value = value

    def told(self, words: ElicitationWords) -> str:
        """What to tell the user."""
        return str(getattr(words, self._key)).replace("{value}", self._value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field.

    Attributes:
        name: Its key in the content.
        title: Its name for people.
        description: What the server says of it.
        kind: How it is answered.
        required: Whether it must be answered.
        schema: Its JSON schema.
        options: For a choice: what people say, and the value it stands for.
    """

    name: str
    title: str
    description: str
    kind: Kind
    required: bool
    schema: Mapping[str, Any]
    options: Mapping[str, Any]

    def hint(self, words: ElicitationWords) -> str:
        """How to answer, where that is not plain from the question."""
        if self.kind == "boolean":
            return words.yes_or_no
        return self._misfit().told(words) if self.options else ""

    def listed_in(self, text: str) -> bool:
        """Whether a text names all options already."""
        said = f" {plain(text)} "
        return bool(self.options) and all(f" {plain(one)} " in said for one in self.options)

    def picks(self, message: str) -> bool:
        """Whether the message is exactly one of the options."""
        return plain(message) in {plain(option) for option in self.options}

    def read(self, message: str, yes: Sequence[str], no: Sequence[str]) -> Any:
        """The value a message stands for.

        Args:
            message: The user's words.
            yes: Words for yes.
            no: Words for no.

        Raises:
            MisfitError: It stands for none that fits.
        """
        value = self._value(message.strip(), yes, no)
        try:
            checker = Draft202012Validator.FORMAT_CHECKER
            Draft202012Validator(self.schema, format_checker=checker).validate(value)
        except ValidationError as error:
            key = _LIMITS.get(str(error.validator), "wrong_form")
            raise MisfitError(key, str(error.validator_value)) from error
        except Exception:  # noqa: BLE001 - a schema that is none raises whatever it happens to
            return value
        return value

    def _value(self, message: str, yes: Sequence[str], no: Sequence[str]) -> Any:
        match self.kind:
            case "boolean":
                answer = verdict(message, yes, no)
                if answer not in {"yes", "no"}:
                    raise self._misfit()
                return answer == "yes"
            case "number" | "integer":
                return self._number(message)
            case "choice":
                return self._chosen(message)
            case "choices":
                parts = [part for part in re.split(r"[,;\n]", message) if plain(part)]
                if not parts:
                    raise self._misfit()
                return [self._chosen(part) for part in parts]
            case "string":
                if not message:
                    raise self._misfit()
                return message

    def _number(self, message: str) -> int | float:
        found = _NUMBER.fullmatch(message.rstrip(".!").strip())
        if found is None:
            raise self._misfit()
        whole, mark, rest = found.groups()
        if mark == "," and len(rest) == _THOUSANDS:  # thousands for some, a fraction for others
            raise self._misfit()
        if not rest or not int(rest):
            return int(whole)
        if self.kind == "integer":
            raise self._misfit()
        return float(f"{whole}.{rest}")

    def _chosen(self, message: str) -> Any:
        said = plain(message)
        for option, value in self.options.items():
            if said and said == plain(option):
                return value
        raise self._misfit()

    def _misfit(self) -> MisfitError:
        key = {"boolean": "yes_or_no", "choice": "one_of", "choices": "some_of"}.get(self.kind)
        titles = list(dict.fromkeys(self._titles()))
        more = ["…"] if len(titles) > OPTIONS_NAMED else []
        return MisfitError(key or self.kind, ", ".join([*titles[:OPTIONS_NAMED], *more]))

    def _titles(self) -> Iterator[str]:
        """One name for each value: the first one people can say."""
        seen: list[Any] = []
        for option, value in self.options.items():
            if value not in seen:
                seen.append(value)
                yield option


def fields_of(schema: Mapping[str, Any]) -> Iterator[Field]:
    """The fields of a form, in its order; what must be answered comes first."""
    properties = schema.get("properties")
    required = schema.get("required") or ()
    if not isinstance(properties, Mapping):
        return
    named = sorted(properties.items(), key=lambda item: item[0] not in required)
    for name, written in named:
        form = _without_null(written if isinstance(written, Mapping) else {})
        options = _options(form)
        yield Field(
            name=str(name),
            title=str(form.get("title") or str(name).replace("_", " ")),
            description=str(form.get("description") or ""),
            kind=_kind(form, choice=bool(options)),
            required=name in required,
            schema=form,
            options=options,
        )


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a value that is there; leaving a field out says the rest."""
    variants = schema.get("anyOf")
    if not isinstance(variants, list):
        return schema
    present = [each for each in variants if isinstance(each, Mapping) and _is_value(each)]
    if len(present) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**rest, **cast("Mapping[str, Any]", present[0])}


def _is_value(variant: Mapping[str, Any]) -> bool:
    return variant.get("type") != "null"


def _kind(schema: Mapping[str, Any], *, choice: bool) -> Kind:
    kind = schema.get("type")
    if kind == "array":
        return "choices"
    if choice:
        return "choice"
    return kind if kind in {"number", "integer", "boolean"} else "string"


def _options(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What can be chosen: titles before values, for both can be said."""
    items = schema.get("items")
    place = items if isinstance(items, Mapping) else schema
    named: list[tuple[str, Any]] = []
    for key in ("oneOf", "anyOf"):
        variants = [v for v in place.get(key) or () if isinstance(v, Mapping) and "const" in v]
        named.extend((str(v.get("title") or v["const"]), v["const"]) for v in variants)
    values = list(place.get("enum") or ())
    named.extend(zip(map(str, schema.get("enumNames") or values), values, strict=False))
    return dict([*named, *((str(value), value) for _, value in named)])
