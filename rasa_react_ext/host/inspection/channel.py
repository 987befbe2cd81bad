"""Checks on credentials.yml: names of channels, and the keys that each of them reads.

A channel is not made for that: some reach out at once, and some ask for a licence.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rasa.core.channels import BUILTIN_CHANNELS
from rasa.core.channels.channel import InputChannel

from rasa_react_ext.a2a_server.settings import CHANNEL as SERVER_CHANNEL
from rasa_react_ext.explain.setting import meant
from rasa_react_ext.host.external.build import CHANNEL as REPORT_CHANNEL
from rasa_react_ext.host.inspection.class_path import class_at
from rasa_react_ext.host.inspection.finding import Finding, Inspection

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_channels"]

OUR_CHANNELS = (SERVER_CHANNEL, REPORT_CHANNEL)
_NOT_INSTALLED = frozenset(
    {
        "facebook",
        "slack",
        "telegram",
        "twilio",
        "twilio_media_streams",
        "twilio_voice",
        "vier_cvg",
        "webexteams",
    }
)
"""Channels of the host that need a package which may be missing."""

_READERS = ("from_credentials", "validate_credentials", "validate_basic_credentials")
_NEEDED = {"audiocodes": {"token"}, "callback": {"url"}, "rasa": {"url"}}
"""Keys that these channels need and whose reading does not show it."""

_EVERYWHERE = {"silence_timeout"}
_VOICE = {"asr", "tts"}


def check_channels(inspection: Inspection, credentials: Source) -> Source:
    """Look at the channels.

    Args:
        inspection: Takes what is wrong.
        credentials: The file.

    Returns:
        The file as it was meant, where that can be told, so that one mistake is told once.
    """
    values = credentials.values()
    if values is None:
        return credentials
    if not isinstance(values, Mapping):
        problem, fix = "there are no channels in it.", "Write the name of each with a colon."
        inspection.add(Finding(file=credentials.path, line=1, problem=problem, fix=fix))
        return replace(credentials, mended={})
    mended = dict[str, Any]()
    for name, entry in ((str(key), value) for key, value in values.items()):
        channel, problem, right = _found(name)
        if problem:
            fix = f"Did you mean {right!r}?" if right else _advice(name)
            inspection.add(_finding(credentials, [name], problem, fix))
            channel = _found(right)[0] if right else None
        if channel is not None and right not in OUR_CHANNELS:
            keys = [str(key) for key in entry] if isinstance(entry, Mapping) else []
            meant_keys = _check_keys(inspection, credentials, name, channel, keys)
            _check_needs(inspection, credentials, [name, right], channel, entry, meant_keys)
        mended[right or name] = entry
    return replace(credentials, mended=mended)


def _finding(source: Source, parts: list[str], problem: str, fix: str) -> Finding:
    line = source.line(parts)
    return Finding(file=source.path, line=line, key=": ".join(parts), problem=problem, fix=fix)


def _found(name: str) -> tuple[type | None, str, str]:
    """The class of a channel, what is wrong with its name, and the name that was meant."""
    if name in BUILTIN_CHANNELS:
        return BUILTIN_CHANNELS[name], "", name
    if name in _NOT_INSTALLED:
        return None, "the package that this channel needs is not installed.", ""
    if "." not in name:
        known = {*BUILTIN_CHANNELS, *_NOT_INSTALLED, *OUR_CHANNELS}
        return None, "Rasa has no channel of this name.", meant(name, known)
    return _imported(name)


def _imported(name: str) -> tuple[type | None, str, str]:
    """The same for a name with a module."""
    found, problem, right = class_at(name, InputChannel, OUR_CHANNELS)
    if found is not None and not hasattr(found, "from_credentials"):
        return None, "this is no class of a channel.", ""
    return found, problem, right


def _advice(name: str) -> str:
    if name in _NOT_INSTALLED:
        return "Install it: pip install 'rasa-pro[channels]'."
    if "." in name:
        return "Write the full name of a class that extends InputChannel."
    return "Write the name of a channel of Rasa, or the full name of a class of yours."


def _check_keys(
    inspection: Inspection, source: Source, name: str, channel: type, keys: Collection[str]
) -> set[str]:
    """Keys that a channel does not read; a class of the project's own may read any.

    Returns:
        The keys that were meant.
    """
    reads, kept = _read_of(channel), set(keys)
    for key in keys:
        if key in reads.keys:
            continue
        right = meant(key, reads.keys - set(keys))
        if right:
            fix = f"Did you mean {right!r}?"
            kept.add(right)
        elif name in BUILTIN_CHANNELS and not reads.passed_on:
            known = ", ".join(sorted(reads.keys))
            fix = f"The keys are: {known}." if known else "Remove it."
        else:
            continue
        inspection.add(_finding(source, [name, key], "this channel reads no such key.", fix))
    return kept


def _check_needs(
    inspection: Inspection,
    source: Source,
    names: Sequence[str],
    channel: type,
    entry: Any,
    keys: Collection[str],
) -> None:
    """Keys without which a channel of the host cannot be made.

    Args:
        inspection: Takes those that are missing.
        source: credentials.yml.
        names: The channel as it is written, and as it was meant.
        channel: Its class.
        entry: What stands below it.
        keys: Its keys, as they were meant.
    """
    written, name = names
    if name not in BUILTIN_CHANNELS:
        return
    needed, wrong = _needed_by(channel, entry, keys)
    for key in sorted((needed | _NEEDED.get(name, set())) - set(keys)):
        fix = f"Add it below {name!r}: the channel cannot be made without."
        inspection.add(_finding(source, [written, key], "this key is missing.", fix))
    if wrong:
        fix = "Correct what stands below the channel."
        inspection.add(_finding(source, [written], f"Rasa says: {wrong}", fix))


def _needed_by(channel: type, entry: Any, keys: Collection[str]) -> tuple[set[str], str]:
    """Keys that must be there, and what else the host says of an entry."""
    reads, missing = _read_of(channel), set[str]()
    validate = next((v for v in reads.validators if hasattr(channel, v)), None)
    if validate is None:
        return reads.needed, ""
    while True:
        # Without any key the host tells of a missing file, and not of what it needs.
        there = {"": True, **dict.fromkeys({*keys, *missing}, True)}
        try:
            getattr(channel, validate)({**there, **_mapping(entry)})
        except Exception as error:  # noqa: BLE001 - the host raises many kinds
            words = " ".join(str(error).split())
            named = {key for key in reads.keys if re.search(rf"\b{key}\b", words)} - set(there)
            if not named:
                return missing, words
            missing |= named
        else:
            return missing, ""


def _mapping(entry: Any) -> Mapping[str, Any]:
    return entry if isinstance(entry, Mapping) else {}


@dataclass(kw_only=True, slots=True)
class _Read:
    """What a channel's class reads.

    Attributes:
        keys: Keys by their names.
        optional: Those among them that are read with another value in their place.
        needed: Those among them without which the channel's object cannot be made.
        passed_on: It hands all of them to something else.
        validators: Its functions that look at them first.
    """

    keys: set[str] = field(default_factory=set[str])
    optional: set[str] = field(default_factory=set[str])
    needed: set[str] = field(default_factory=set[str])
    passed_on: bool = False
    validators: list[str] = field(default_factory=list[str])


def _read_of(channel: type) -> _Read:
    """What a channel's class reads of its credentials, itself or in what it extends."""
    read = _Read()
    for owner in channel.__mro__:
        for reader in _READERS:
            function = getattr(vars(owner).get(reader), "__func__", None)
            if function is not None and owner is not InputChannel:
                _look_into(function, read)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if read.keys or read.passed_on:
        parameters = inspect.signature(channel).parameters.values()
        bare = {p.name for p in parameters if p.default is p.empty and "Optional" not in str(p)}
        read.needed = bare & read.keys - read.optional
        read.keys |= {parameter.name for parameter in parameters if parameter.kind in kinds}
        read.keys |= _EVERYWHERE | ({*_VOICE} if read.passed_on else set())
    return read


def _look_into(function: Any, read: _Read) -> None:
    """Note the keys that a function reads, and whether it hands its mapping on as a whole."""
    if function.__name__ == _READERS[0] and not read.validators:
        read.validators = [name for name in _READERS[1:] if name in function.__code__.co_names]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        read.passed_on = True
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            read.keys |= _text(node.slice, function)
        elif isinstance(node, ast.Call):
            read.passed_on |= any(
                isinstance(a, ast.Name) and a.id == "credentials" for a in node.args
            ) or any(keyword.arg is None for keyword in node.keywords)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
                keys = _text(node.args[0], function)
                read.keys |= keys
                read.optional |= keys if len(node.args) > 1 else set()


def _text(node: ast.expr, function: Any) -> set[str]:
    """The text that a node stands for, itself or by a name of its module."""
    value = getattr(node, "value", None)
    if isinstance(node, ast.Name):
        value = function.__globals__.get(node.id)
    return {value} if isinstance(value, str) else set()
