"""A project's endpoints.yml, pointed at the servers of a test.

Pure: from one YAML text to another; values in `${...}` stay for the host to fill.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from rasa_react_ext.errors import ConfigurationError

__all__ = ["offline_endpoints"]

_SHARED_STATE = ("event_broker", "lock_store", "tracker_store")
_OUR_SECTION = "rasa_react_ext"
_OF_A_PROVIDER = re.compile(
    r"provider|model|deployment(_name)?|engine|organization|project|region|use_ssl"
    r"|api_(base|key|type|version)|(aws|azure|vertex|oauth|ssl|bedrock|databricks)(_\w+)?"
)


def offline_endpoints(
    text: str,
    *,
    model_url: str,
    servers: Mapping[str, str],
    state: Path | None = None,
    file: str = "endpoints.yml",
) -> str:
    """The endpoints with every model and the given MCP servers replaced.

    Models keep their names and lose what belongs to their provider. Tracker, lock store and
    event broker are left out, the agents' store and the folder of records are replaced: a test
    needs no other state than its own.

    Args:
        text: The endpoints as written.
        model_url: Base URL of an OpenAI-compatible API.
        servers: URLs by the names in `mcp_servers`.
        state: Folder for what the agents keep and for records, where records are switched on;
            the places written in the endpoints without one.
        file: Name of the file, for messages.

    Raises:
        ConfigurationError: The text is no mapping, or it has no server of a given name.
    """
    endpoints = _read(text, file)
    kept = {key: value for key, value in endpoints.items() if key not in _SHARED_STATE}
    if isinstance(kept.get("model_groups"), list):
        kept["model_groups"] = [_group(group, model_url) for group in kept["model_groups"]]
    named = [entry for entry in kept.get("mcp_servers") or () if isinstance(entry, dict)]
    _check_names(servers, [str(entry.get("name")) for entry in named], file)
    for entry in named:
        if entry.get("name") in servers:
            entry |= {"url": servers[str(entry["name"])], "type": "http"}
    section = kept.get(_OUR_SECTION)
    if state is not None and (section is None or isinstance(section, dict)):
        kept[_OUR_SECTION] = _placed(section or {}, state)
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)


def _placed(section: Mapping[str, Any], state: Path) -> dict[str, Any]:
    placed = {**section, "store": str(state / "store.db")}
    if section.get("trace_folder"):
        placed["trace_folder"] = str(state / "traces")
    return placed


def _read(text: str, file: str) -> dict[str, Any]:
    problem = "it holds no mapping."
    try:
        value = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        value, problem = None, f"it is no YAML: {' '.join(str(error).split())}."
    if isinstance(value, dict):
        return value
    raise ConfigurationError(
        file=file, key="(top level)", problem=problem, fix="Write it as the host documents it."
    )


def _group(group: Any, model_url: str) -> Any:
    models = group.get("models") if isinstance(group, dict) else None
    if not isinstance(models, list):
        return group
    return {**group, "models": [_model(model, model_url) for model in models]}


def _model(model: Any, model_url: str) -> Any:
    if not isinstance(model, dict):
        return model
    kept = {key: value for key, value in model.items() if not _OF_A_PROVIDER.fullmatch(str(key))}
    name = model.get("model") or model.get("deployment") or "scripted"
    known = {"provider": "openai", "model": name, "api_base": model_url, "api_key": _KEY}
    return {**known, **kept}


_KEY = "${OPENAI_API_KEY}"


def _check_names(given: Iterable[str], known: list[str], file: str) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise ConfigurationError(
                file=file,
                key="mcp_servers",
                problem=f"it names no server {name!r}.",
                fix=f"{hint}Named are: {', '.join(known) or 'none'}.",
            )
