"""Delivers pushes: in order, again after a failure, in the protocol of the subscriber."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

import aiohttp
import structlog
from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import StreamResponse, TaskPushNotificationConfig
from google.protobuf.json_format import MessageToDict

from rasa_react_ext.a2a_server.address import AddressPolicy, CheckedResolver, RefusedAddressError
from rasa_react_ext.a2a_server.record import parse_task
from rasa_react_ext.a2a_server.subscription import Subscriptions
from rasa_react_ext.store.served_push import DuePush, ServedPushes

__all__ = ["Delivery", "push_body"]

_log = structlog.get_logger()
IDLE_SECONDS = 0.5
AT_ONCE = 16
TOTAL_SECONDS = 30.0
CONNECT_SECONDS = 5.0
HELD_SECONDS = TOTAL_SECONDS + 15
LONGEST_PAUSE_SECONDS = 300.0
GONE = 410
TOKEN_HEADER = "X-A2A-Notification-Token"
ERROR_LIMIT = 300


class Delivery:
    """Delivers what is due; any number of processes may do it at once."""

    def __init__(
        self,
        pushes: ServedPushes,
        subscriptions: Subscriptions,
        policy: AddressPolicy,
        *,
        attempts: int,
    ) -> None:
        self.counts = {"delivered": 0, "failed": 0, "dead": 0}
        self._pushes = pushes
        self._subscriptions = subscriptions
        self._policy = policy
        self._attempts = attempts

    async def run(self) -> None:
        """Deliver until cancelled."""
        # No proxy: it would resolve names by itself, and the check would mean nothing.
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(self._policy), use_dns_cache=False
            ),
            timeout=aiohttp.ClientTimeout(total=TOTAL_SECONDS, sock_connect=CONNECT_SECONDS),
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            while True:
                try:
                    busy = await self._round(session)
                except Exception:  # noqa: BLE001 - one bad round must not end all deliveries
                    busy = False
                    _log.exception(
                        "rasa_react_ext.a2a_server.outbox_unreachable",
                        event_info="Pushes could not be read from the store; trying again.",
                    )
                if not busy:
                    await asyncio.sleep(IDLE_SECONDS)

    async def _round(self, session: aiohttp.ClientSession) -> bool:
        due = await self._pushes.take(AT_ONCE, HELD_SECONDS)
        if due:
            async with asyncio.TaskGroup() as group:
                for push in due:
                    group.create_task(self._deliver(session, push))
        return bool(due)

    async def _deliver(self, session: aiohttp.ClientSession, push: DuePush) -> None:
        if push.config is None:
            await self._pushes.done(push.push_id)
            return
        config = self._subscriptions.opened(push.config)
        try:
            status = await self._post(session, config, push_body(push.body, push.config.protocol))
        except RefusedAddressError as error:
            await self._failed(push, f"address refused: {error}", final=True)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            refused = isinstance(error.__cause__, RefusedAddressError)
            await self._failed(push, str(error) or type(error).__name__, final=refused)
        else:
            if 200 <= status < 300:
                self.counts["delivered"] += 1
                await self._pushes.done(push.push_id)
            else:
                await self._failed(push, f"answered {status}", final=status == GONE)

    async def _post(
        self,
        session: aiohttp.ClientSession,
        config: TaskPushNotificationConfig,
        body: dict[str, Any],
    ) -> int:
        await self._policy.check(config.url)
        headers = {"Content-Type": "application/json"}
        if config.token:
            headers[TOKEN_HEADER] = config.token
        if config.authentication.credentials:
            scheme = config.authentication.scheme or "Bearer"
            headers["Authorization"] = f"{scheme} {config.authentication.credentials}"
        async with session.post(
            config.url, data=json.dumps(body).encode(), headers=headers, allow_redirects=False
        ) as response:
            return response.status

    async def _failed(self, push: DuePush, error: str, *, final: bool) -> None:
        self.counts["failed"] += 1
        dead = final or push.attempts >= self._attempts
        pause = min(2.0 ** (push.attempts - 1), LONGEST_PAUSE_SECONDS) * random.uniform(0.75, 1.25)
        retry_at = None if dead else time.time() + pause
        await self._pushes.failed(push.push_id, error[:ERROR_LIMIT], retry_at=retry_at)
        if dead:
            self.counts["dead"] += 1
        _log.warning(
            "rasa_react_ext.a2a_server.push_failed",
            task_id=push.task_id,
            attempts=push.attempts,
            reason=error[:ERROR_LIMIT],
            given_up=dead,
            event_info="A push was not delivered.",
        )


def push_body(body: bytes, protocol: str) -> dict[str, Any]:
    """The body of a push: the whole task, in the form of a protocol version.

    Args:
        body: The stored task.
        protocol: `0.3` or `1.0`.
    """
    task = parse_task(body)
    if protocol == "0.3":
        older: dict[str, Any] = to_compat_task(task).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        return older
    return dict(MessageToDict(StreamResponse(task=task)))
