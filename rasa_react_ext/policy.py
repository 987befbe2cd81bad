"""The one line a project adds to config.yml to run its sub agents on this engine."""

from __future__ import annotations

# The host reads the annotations of a policy and understands only these older forms.
# ruff: noqa: UP006, UP019, UP035, UP045
from typing import Any, Dict, List, Optional, Text

from rasa.agents.core.cancellation import CancellationToken
from rasa.core.channels.channel import OutputChannel
from rasa.core.constants import POLICY_MAX_HISTORY, POLICY_PRIORITY
from rasa.core.featurizers.tracker_featurizers import TrackerFeaturizer
from rasa.core.policies.policy import Policy, PolicyPrediction
from rasa.engine.graph import ExecutionContext
from rasa.engine.recipes.default_recipe import DefaultV1Recipe
from rasa.engine.storage.resource import Resource
from rasa.engine.storage.storage import ModelStorage
from rasa.shared.core.domain import Domain
from rasa.shared.core.flows import FlowsList
from rasa.shared.core.generator import TrackerWithCachedStates
from rasa.shared.core.trackers import DialogueStateTracker

from rasa_react_ext.compatibility import check_host
from rasa_react_ext.host.binding import bind, check_layout, check_settings
from rasa_react_ext.host.refusal import refusing

__all__ = ["ReActPolicy"]

_PRIORITY = 0
_HOST_KEYS = {POLICY_PRIORITY, POLICY_MAX_HISTORY, "featurizer", "name"}


@DefaultV1Recipe.register(
    DefaultV1Recipe.ComponentType.POLICY_WITHOUT_END_TO_END_SUPPORT, is_trainable=False
)
class ReActPolicy(Policy):
    """Stands beside `FlowPolicy`, binds the sub agents at load and never predicts.

    Its keys in config.yml are those of `rasa_react_ext.host.settings.EngineSettings`.
    """

    @staticmethod
    def get_default_config() -> Dict[Text, Any]:
        """The host's keys; ours have their defaults in the settings model."""
        return {POLICY_PRIORITY: _PRIORITY, POLICY_MAX_HISTORY: None}

    def __init__(
        self,
        config: Dict[Text, Any],
        model_storage: ModelStorage,
        resource: Resource,
        execution_context: ExecutionContext,
        featurizer: Optional[TrackerFeaturizer] = None,
    ) -> None:
        """Check the settings; training builds the policy too, so it checks them as well.

        Raises:
            RefusedProjectError: A setting is wrong; names file, key and fix.
        """
        super().__init__(config, model_storage, resource, execution_context, featurizer)
        self.resource = resource
        with refusing():
            check_settings(_own_keys(config))

    @classmethod
    def load(  # pyright: ignore[reportIncompatibleMethodOverride] - the decorator hides the class
        cls,
        config: Dict[Text, Any],
        model_storage: ModelStorage,
        resource: Resource,
        execution_context: ExecutionContext,
        **kwargs: Any,
    ) -> ReActPolicy:
        """Bind the sub agents of the configured project to this engine.

        Raises:
            RefusedHostError: This release of the host is not the tested one.
            RefusedProjectError: Something in the project does not fit; names file, key and fix.
                Agents of an earlier model stay at work.
        """
        with refusing():
            check_host()
            check_layout(execution_context, cls)
            bind(_own_keys(config), model_storage)
        return cls(config, model_storage, resource, execution_context)

    def train(
        self,
        training_trackers: List[TrackerWithCachedStates],
        domain: Domain,
        **kwargs: Any,
    ) -> Resource:
        """Nothing is learnt."""
        return self.resource

    async def predict_action_probabilities(
        self,
        tracker: DialogueStateTracker,
        domain: Domain,
        rule_only_data: Optional[Dict[Text, Any]] = None,
        flows: Optional[FlowsList] = None,
        output_channel: Optional[OutputChannel] = None,
        cancellation_token: Optional[CancellationToken] = None,
        **kwargs: Any,
    ) -> PolicyPrediction:
        """Abstain: FlowPolicy advances the flows."""
        abstention = self._default_predictions(domain)  # pyright: ignore[reportPrivateUsage]
        return self._prediction(abstention)  # pyright: ignore[reportPrivateUsage]


def _own_keys(config: Dict[Text, Any]) -> Dict[Text, Any]:
    return {key: value for key, value in config.items() if key not in _HOST_KEYS}
