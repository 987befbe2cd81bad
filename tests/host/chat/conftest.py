"""A real provider on a loopback port, and model groups that point to it."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any

import litellm
import pytest
from aiohttp import web

from tests.host.chat.provider import Provider

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the host's own imports warn
    from rasa.shared.utils.llm import llm_factory

    from rasa_react_ext.host.chat import HostChatModel, chat_model, closing_clients

DEFAULT = {
    "provider": "openai",
    "model": "gpt-5.1-2025-11-13",
    "temperature": 1.0,
    "max_completion_tokens": 256,
    "timeout": 7,
    "reasoning_effort": "none",
}
FOREIGN = (
    "ALL_PROXY",
    "AZURE_API_KEY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_ORGANIZATION",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "RASA_CA_BUNDLE",
    "RASA_SSL_CERTIFICATE",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERTIFICATE",
    "SSL_VERIFY",
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a test sets counts."""
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-dummy-key-of-the-environment")


@pytest.fixture(autouse=True)
def untouched_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Litellm keeps what it was told for the whole process."""
    for name in vars(litellm):
        if name.endswith("callback") or name == "callbacks":
            value = getattr(litellm, name)
            if isinstance(value, list):
                monkeypatch.setattr(litellm, name, list(value))


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """A provider that says hello until it is told otherwise."""
    provider = Provider()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", provider.handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    provider.url = f"http://{host}:{port}"
    async with closing_clients():
        yield provider
    await runner.cleanup()


class Sink:
    """Collects what was shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, text: str) -> None:
        self.seen.append(text)


@pytest.fixture
def sink() -> Sink:
    return Sink()


def model_of(
    *, router: dict[str, Any] | None = None, count: int = 1, **model: Any
) -> HostChatModel:
    """The chat model of a group of equal models; None takes a key out."""
    settings = {"provider": "self-hosted", "model": "m", **model}
    given = {key: value for key, value in settings.items() if value is not None}
    config: dict[str, Any] = {"id": "sales", "models": [dict(given) for _ in range(count)]}
    if router is not None:
        config["router"] = router
    return chat_model(llm_factory(config, DEFAULT), name="sales")


@pytest.fixture
async def group(provider: Provider) -> AsyncIterator[Callable[..., HostChatModel]]:
    """Makes chat models of groups that point to the provider unless told otherwise."""
    made: list[HostChatModel] = []

    def make(**settings: Any) -> HostChatModel:
        made.append(model_of(**{"api_base": f"{provider.url}/v1", **settings}))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()
