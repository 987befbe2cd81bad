"""Push subscriptions: who is told of a task's changes, checked before they are kept."""

from __future__ import annotations

from a2a.types import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    SendMessageConfiguration,
    TaskPushNotificationConfig,
)

from rasa_react_ext.a2a_server.address import AddressPolicy, RefusedAddressError
from rasa_react_ext.a2a_server.call import Call
from rasa_react_ext.a2a_server.seal import Seal
from rasa_react_ext.store.served_push import PushConfig, ServedPushes

__all__ = ["Subscriptions"]

FIELD_LIMIT = 4096
PER_TASK = 10


class Subscriptions:
    """The subscriptions of all tasks; refuses all where pushes are off."""

    def __init__(
        self, pushes: ServedPushes, policy: AddressPolicy, seal: Seal, *, enabled: bool
    ) -> None:
        self._pushes = pushes
        self._policy = policy
        self._seal = seal
        self._enabled = enabled

    async def inline(
        self, configuration: SendMessageConfiguration, task_id: str, call: Call
    ) -> tuple[str, str, bytes] | None:
        """The subscription that came with a message, checked but not kept.

        Raises:
            A2AError: Pushes are off, or it cannot be accepted.
        """
        if not configuration.HasField("task_push_notification_config"):
            return None
        config = await self._checked(configuration.task_push_notification_config, task_id)
        return config.id, call.protocol, self._sealed(config)

    async def put(self, config: TaskPushNotificationConfig, call: Call) -> None:
        """Make or replace a subscription; its id is filled in where it has none.

        Raises:
            A2AError: Pushes are off, or it cannot be accepted.
        """
        checked = await self._checked(config, config.task_id)
        config.CopyFrom(checked)
        known = {stored.config_id for stored in await self._pushes.configs(config.task_id)}
        if config.id not in known and len(known) >= PER_TASK:
            raise InvalidParamsError(f"a task has at most {PER_TASK} push notification configs")
        stored = PushConfig(config_id=config.id, protocol=call.protocol, body=self._sealed(config))
        await self._pushes.put(config.task_id, stored)

    async def of_task(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """The subscriptions of a task.

        Raises:
            PushNotificationNotSupportedError: Pushes are off.
        """
        self.check_enabled()
        return [self.opened(stored) for stored in await self._pushes.configs(task_id)]

    async def remove(self, task_id: str, config_id: str) -> None:
        """End a subscription.

        Raises:
            PushNotificationNotSupportedError: Pushes are off.
        """
        self.check_enabled()
        await self._pushes.remove(task_id, config_id)

    def opened(self, stored: PushConfig) -> TaskPushNotificationConfig:
        """A stored subscription."""
        config = TaskPushNotificationConfig()
        config.ParseFromString(self._seal.open(stored.body))
        return config

    def check_enabled(self) -> None:
        """Refuse where pushes are off.

        Raises:
            PushNotificationNotSupportedError: They are.
        """
        if not self._enabled:
            raise PushNotificationNotSupportedError

    def _sealed(self, config: TaskPushNotificationConfig) -> bytes:
        return self._seal.close(config.SerializeToString())

    async def _checked(
        self, given: TaskPushNotificationConfig, task_id: str
    ) -> TaskPushNotificationConfig:
        self.check_enabled()
        config = TaskPushNotificationConfig()
        config.CopyFrom(given)
        config.task_id = task_id
        config.id = config.id or task_id
        values = (config.url, config.token, config.authentication.credentials)
        if len(config.id) > 255 or any(len(value) > FIELD_LIMIT for value in values):
            raise InvalidParamsError("the push notification config is too long")
        headers = (config.token, config.authentication.scheme, config.authentication.credentials)
        if "\x00" in config.id or any(not value.isprintable() for value in headers):
            raise InvalidParamsError("the push notification config holds control characters")
        try:
            await self._policy.check(config.url)
        except RefusedAddressError as error:
            raise InvalidParamsError(f"push notification url refused: {error}") from error
        return config
