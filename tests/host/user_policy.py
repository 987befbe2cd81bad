"""A user's own flow policy, as some projects have it."""

from __future__ import annotations

from rasa.core.policies.flow_policy import FlowPolicy
from rasa.engine.recipes.default_recipe import DefaultV1Recipe

__all__ = ["LoudFlowPolicy"]


@DefaultV1Recipe.register(
    DefaultV1Recipe.ComponentType.POLICY_WITHOUT_END_TO_END_SUPPORT, is_trainable=False
)
class LoudFlowPolicy(FlowPolicy):
    """Advances flows as `FlowPolicy` does."""
