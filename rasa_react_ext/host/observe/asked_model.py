"""Which model a call asks for, as the model group says it before there is an answer.

Reads a client of the host and asks nobody. The names of providers are those of the GenAI
semantic conventions where these have one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["UNKNOWN", "AskedModel", "asked_model"]

_CONVENTIONAL = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_ROUTER = "litellm"
"""Named where a group has models of several providers: its router chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedModel:
    """A model before it has answered; empty where nobody says.

    Attributes:
        name: Its name, or that of a group of different models.
        provider: Who provides it.
    """

    name: str = ""
    provider: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """What is known, by the names of the conventions."""
        given = {"gen_ai.provider.name": self.provider, "gen_ai.request.model": self.name}
        return {key: value for key, value in given.items() if value}


UNKNOWN = AskedModel()


def asked_model(client: Any) -> AskedModel:
    """The model behind a client.

    Args:
        client: What the host made of a model group, or a user's own.
    """
    config = getattr(client, "config", None)
    if not isinstance(config, Mapping):
        return UNKNOWN
    models = list(_models(config))
    names = {name for _, name in models}
    providers = {provider for provider, _ in models}
    provider = providers.pop() if len(providers) == 1 else _ROUTER
    return AskedModel(
        name=names.pop() if len(names) == 1 else str(config.get("id") or ""),
        provider=_CONVENTIONAL.get(provider, provider),
    )


def _models(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Provider and name of each model; a router has both in one word."""
    routed = config.get("model_list")
    for entry in [model.get("litellm_params", {}) for model in routed] if routed else [config]:
        name = os.path.expandvars(str(entry.get("model") or entry.get("deployment") or ""))
        provider = str(entry.get("provider") or "")
        if not provider and routed:
            provider = name.partition("/")[0] if "/" in name else ""
        yield provider, name.removeprefix(f"{provider}/")
