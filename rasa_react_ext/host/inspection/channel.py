"""Checks on credentials.yml: names of channels, and the keys that each of them reads.

A channel is not made for that: some reach out at once, and some ask for a licence.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rasa.core.channels import BUILTIN_CHANNELS
from rasa.core.channels.channel import InputChannel

from rasa_react_ext.a2a_server.settings import CHANNEL as SERVER_CHANNEL
from rasa_react_ext.host.external.build import CHANNEL as REPORT_CHANNEL
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.source import meant

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
        if channel is not None and isinstance(entry, Mapping) and right not in OUR_CHANNELS:
            _check_keys(inspection, credentials, name, channel, [str(key) for key in entry])
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
    module, _, label = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), label)
    except AttributeError:
        known = {f"{module}.{channel}" for channel in _channels_in(module)}
        problem = f"{module} has no class {label!r}."
        return None, problem, meant(name, {*known, *OUR_CHANNELS})
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything
        return None, f"the class cannot be imported: {error}.", meant(name, OUR_CHANNELS)
    if not hasattr(found, "from_credentials"):
        return None, "this is no class of a channel.", ""
    return found, "", name


def _advice(name: str) -> str:
    if name in _NOT_INSTALLED:
        return "Install it: pip install 'rasa-pro[channels]'."
    if "." in name:
        return "Write the full name of a class that extends InputChannel."
    return "Write the name of a channel of Rasa, or the full name of a class of yours."


def _channels_in(module: str) -> Iterator[str]:
    names = vars(sys.modules[module]) if module in sys.modules else {}
    for label, value in names.items():
        if isinstance(value, type) and issubclass(value, InputChannel):
            yield label


def _check_keys(
    inspection: Inspection, source: Source, name: str, channel: type, keys: Collection[str]
) -> None:
    """Keys that a channel does not read; a class of the project's own may read any."""
    known, passed_on = _keys_of(channel)
    for key in keys:
        if key in known:
            continue
        right = meant(key, known - set(keys))
        if right:
            fix = f"Did you mean {right!r}?"
        elif name in BUILTIN_CHANNELS and not passed_on:
            fix = f"The keys are: {', '.join(sorted(known))}." if known else "Remove it."
        else:
            continue
        inspection.add(_finding(source, [name, key], "this channel reads no such key.", fix))


def _keys_of(channel: type) -> tuple[set[str], bool]:
    """The keys that a channel's class reads, and whether it hands all of them to something else."""
    known, passed_on = set[str](), False
    for owner in channel.__mro__:
        for reader in _READERS:
            function = getattr(vars(owner).get(reader), "__func__", None)
            if function is None or owner is InputChannel:
                continue
            read, whole = _read_by(function)
            known |= read
            passed_on |= whole
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if known or passed_on:
        parameters = inspect.signature(channel).parameters.values()
        known |= {parameter.name for parameter in parameters if parameter.kind in kinds}
        known |= _EVERYWHERE | ({*_VOICE} if passed_on else set())
    return known, passed_on


def _read_by(function: Any) -> tuple[set[str], bool]:
    """Constant keys that a function reads, and whether it hands its mapping on as a whole."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return set(), True
    read, whole = set[str](), False
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            read.add(str(node.slice.value))
        elif isinstance(node, ast.Call):
            whole |= any(isinstance(a, ast.Name) and a.id == "credentials" for a in node.args)
            whole |= any(keyword.arg is None for keyword in node.keywords)
            if (
                isinstance(node.func, ast.Attribute)
                and node.func.attr == "get"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                read.add(str(node.args[0].value))
    return read, whole
