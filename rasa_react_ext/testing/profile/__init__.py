"""Strict provider profiles: the requests that real providers refuse.

A profile is a tuple of small pure rules; `PROFILES` has them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rasa_react_ext.testing import wire
from rasa_react_ext.testing.profile import anthropic, azure, bedrock, gemini, openai, vllm
from rasa_react_ext.testing.profile.check import Body, Problem, Profile, Refusal, Rule

__all__ = ["PROFILES", "Body", "Problem", "Profile", "Refusal", "Rule"]

_LENIENT = Profile(
    name="lenient", rules=(), error_body=lambda problem: wire.error_body(problem.message)
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _LENIENT,
            openai.PROFILE,
            azure.PROFILE,
            anthropic.PROFILE,
            gemini.PROFILE,
            gemini.SIGNED,
            vllm.PROFILE,
            bedrock.PROFILE,
        )
    }
)
"""All profiles by name."""
