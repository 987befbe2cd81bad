"""Checks on the model groups of endpoints.yml: keys, kinds of values, and names of providers.

LiteLLM hands on what it does not know itself, so a key is wrong only where it is near to a
known one.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import litellm
from litellm.router import Router
from litellm.types.router import LiteLLM_Params
from litellm.types.utils import LlmProviders, all_litellm_params
from litellm.utils import ProviderConfigManager
from rasa.shared.constants import (
    API_KEY,
    USE_CHAT_COMPLETIONS_ENDPOINT_CONFIG_KEY,
)
from rasa.shared.providers import mappings
from rasa.shared.providers._configs.model_group_config import ModelConfig

from rasa_react_ext.explain.setting import explained, meant, nearest
from rasa_react_ext.host.inspection.draft import NEAR, Draft, entry_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_model_groups"]

_GROUP = {"id", "models", "router"}
_NEEDED = {"id": "unnamed", "models": [{"provider": "openai", "model": "unnamed"}]}
"""What must be there, and what takes its place once that was told."""

_CLOSE = 0.8
_RETRIES = {"max_retries", "num_retries"}
_OTHERS = {"top_a"}
"""Parameters of providers that LiteLLM does not name."""

_ALIASES = "DEPRECATED_ALIASES_TO_STANDARD_KEY_MAPPING"


def check_model_groups(draft: Draft) -> None:
    """Look at every model of every group.

    Args:
        draft: endpoints.yml.
    """
    if not draft.is_list(["model_groups"]):
        return
    for index, group in enumerate(draft.at("model_groups")):
        if not isinstance(group, dict):
            continue
        place = ["model_groups", entry_name(group, index, "id")]
        draft.keys(place, _GROUP, cutoff=NEAR, only=False)
        for key, stand_in in _NEEDED.items():
            if not draft.at(*place, key):
                draft.wrong_value([*place, key], *explained({"type": "missing"}), stand_in)
        if isinstance(draft.at(*place, "router"), dict):
            draft.keys([*place, "router"], _router_keys(), cutoff=_CLOSE, only=False)
        if draft.is_list([*place, "models"]):
            for number, model in enumerate(draft.at(*place, "models")):
                if isinstance(model, dict):
                    _check_model(draft, [*place, "models", str(number)])


def _check_model(draft: Draft, place: Sequence[str]) -> None:
    draft.keys(place, _usual_keys() | _keys(), cutoff=_CLOSE, only=False, usual=_usual_keys())
    _check_values(draft, place)
    provider = draft.at(*place, "provider")
    known = _providers()
    if not isinstance(provider, str) or "${" in provider or provider in known:
        return
    near = meant(provider, known)
    fix = nearest(provider, [near]) if near else "Write one that LiteLLM knows, such as openai."
    problem = f"there is no provider {provider!r}."
    draft.wrong_value([*place, "provider"], problem, fix, near or "openai")


def _check_values(draft: Draft, place: Sequence[str]) -> None:
    for key, value in dict(draft.at(*place)).items():
        kind = _kinds().get(str(key))
        if kind and not _fits(value, kind):
            details = {"type": f"{kind}_type"}
            draft.wrong_value([*place, str(key)], *explained(details), None)


def _fits(value: Any, kind: str) -> bool:
    """Whether a value can be meant; numbers in quotes and variables are left to who reads them."""
    if isinstance(value, str):
        return "${" in value or _is_word_for(value, kind)
    if kind == "bool":
        return value is None or isinstance(value, bool)
    whole = kind == "float" or not isinstance(value, float) or value.is_integer()
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and whole
    )


def _is_word_for(text: str, kind: str) -> bool:
    if kind == "bool":
        return text.lower() in {"true", "false"}
    try:
        float(text)
    except ValueError:
        return False
    return True


@cache
def _kinds() -> dict[str, str]:
    """Parameters that every provider takes and that are a number, or true or false."""
    kinds = dict.fromkeys(_RETRIES, "int") | {"timeout": "float"}
    for name, parameter in inspect.signature(litellm.completion).parameters.items():
        hint = parameter.annotation
        types = {part for part in (get_args(hint) or (hint,)) if part is not type(None)}
        if types and types <= {bool, int, float}:
            kinds[name] = "float" if float in types else "int" if int in types else "bool"
    return kinds


def _providers() -> set[str]:
    """Those of the host, of LiteLLM, and what a project has given LiteLLM itself."""
    own = {str(entry["provider"]) for entry in litellm.custom_provider_map}
    theirs = {str(getattr(name, "value", name)) for name in litellm.provider_list}
    return {*_client_settings(), *theirs, *own}


def _client_settings() -> dict[str, type]:
    """The host's classes for the settings of a model, by provider."""
    return dict(getattr(mappings, "_provider_to_client_config_class_mapping", {}))


@cache
def _usual_keys() -> frozenset[str]:
    """Keys that the host reads, and parameters of every provider."""
    classes = (ModelConfig, *_client_settings().values())
    read = {field.name for owner in classes for field in _fields(owner)}
    more = {API_KEY, "oauth", USE_CHAT_COMPLETIONS_ENDPOINT_CONFIG_KEY, *_RETRIES}
    return frozenset({*read, *more, *_named(litellm.completion)})


@cache
def _keys() -> frozenset[str]:
    """Whatever else the host or LiteLLM knows, for any provider."""
    aliases = {
        str(alias)
        for owner in _client_settings().values()
        for alias in getattr(sys.modules[owner.__module__], _ALIASES, ())
    }
    params = {*LiteLLM_Params.model_fields, *all_litellm_params}
    return frozenset({*aliases, *_named(litellm.embedding), *params, *_parameters(), *_OTHERS})


def _parameters() -> Iterator[str]:
    """What LiteLLM passes on to single providers."""
    for provider in LlmProviders:
        config = ProviderConfigManager.get_provider_chat_config("", provider)
        for owner in type(config).__mro__ if config is not None else ():
            if owner is not object:
                yield from _named(owner.__init__)


@cache
def _router_keys() -> frozenset[str]:
    more = {USE_CHAT_COMPLETIONS_ENDPOINT_CONFIG_KEY}
    return frozenset(more.union(_named(Router.__init__)))


def _named(function: Any) -> Iterator[str]:
    yield from inspect.signature(function).parameters


def _fields(owner: Any) -> Any:
    return fields(owner)
