"""The assistant of a test session: trained once, loaded anew where a test needs another setting.

The host keeps one assistant per process, so the one before is let go first.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from rasa_react_ext.assistant import LoadedAssistant, Project, loaded, train
from rasa_react_ext.testing.chat import Chat
from rasa_react_ext.testing.endpoints import offline_endpoints

__all__ = ["Setting", "Stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What an assistant is loaded with.

    Attributes:
        project: The project.
        model_url: Base URL of the model.
        servers: URLs of MCP servers, by their names in endpoints.yml.
    """

    project: Project
    model_url: str
    servers: Mapping[str, str]


class Stage:
    """Loads one assistant after the other; a context manager.

    Args:
        work: Folder for models, stores and records.
        serve: Serves an MCP server or an ASGI application and gives its URL.
    """

    def __init__(self, work: Path, serve: Callable[[Any], str]) -> None:
        self._work = work
        self._serve = serve
        self._served: dict[int, tuple[Any, str]] = {}
        self._archives: dict[Project, Path] = {}
        self._setting: Setting | None = None
        self._loaded: LoadedAssistant | BaseException | None = None
        self._open = ExitStack()
        self._portal_open = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        """Start the event loop in which assistants live."""
        self._portal = self._portal_open.enter_context(start_blocking_portal())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the assistant, then of its event loop."""
        self._open.close()
        self._portal_open.close()

    def chat(self, project: Project, model_url: str, servers: Mapping[str, Any]) -> Chat:
        """A new conversation with the assistant of a setting.

        Args:
            project: The project.
            model_url: Base URL of the model.
            servers: MCP servers by name: URLs, or what `serve` takes.

        Raises:
            ConfigurationError: The project or its endpoints do not fit.
            HostError: The host refuses the project; again for every test of the setting.
        """
        assert self._portal is not None
        urls = {name: self._url(server) for name, server in servers.items()}
        setting = Setting(project=project, model_url=model_url, servers=urls)
        if setting != self._setting:
            self._load(self._portal, setting)
        if isinstance(self._loaded, BaseException):
            raise self._loaded
        assert self._loaded is not None
        return Chat(self._loaded.conversation(uuid.uuid4().hex), self._portal)

    def _url(self, server: Any) -> str:
        if isinstance(server, str):
            return server
        if id(server) not in self._served:
            self._served[id(server)] = (server, self._serve(server))
        return self._served[id(server)][1]

    def _load(self, portal: BlockingPortal, setting: Setting) -> None:
        self._open.close()
        self._setting, self._loaded = setting, None
        try:
            _set_environment(
                self._open.enter_context(pytest.MonkeyPatch.context()), setting, self._work
            )
            self._loaded = self._open.enter_context(
                portal.wrap_async_context_manager(self._trained_and_loaded(setting))
            )
        except Exception as error:  # noqa: BLE001 - raised in each test that needs it
            self._loaded = error

    @asynccontextmanager
    async def _trained_and_loaded(self, setting: Setting) -> AsyncGenerator[LoadedAssistant]:
        project = _offline(setting, self._work)
        if setting.project not in self._archives:
            folder = self._work / f"model-{len(self._archives)}"
            self._archives[setting.project] = await train(project, folder)
        async with loaded(project, self._archives[setting.project]) as assistant:
            yield assistant


def _offline(setting: Setting, work: Path) -> Project:
    """The project with endpoints of its own, which point at the test's servers."""
    project = setting.project
    project.check()
    written = project.folder / project.endpoints
    text = offline_endpoints(
        written.read_text(encoding="utf-8"),
        model_url=setting.model_url,
        servers=setting.servers,
        state=work,
        file=str(written),
    )
    endpoints = work / "endpoints.yml"
    endpoints.write_text(text, encoding="utf-8")
    return replace(project, endpoints=str(endpoints))


def _set_environment(environment: pytest.MonkeyPatch, setting: Setting, work: Path) -> None:
    """No request with a real key, no telemetry, and a training cache that goes with the test."""
    environment.setenv("OPENAI_API_KEY", "offline")
    environment.setenv("OPENAI_API_BASE", setting.model_url)
    environment.setenv("OPENAI_BASE_URL", setting.model_url)
    environment.setenv("RASA_TELEMETRY_ENABLED", "false")
    environment.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    environment.setenv("RASA_CACHE_DIRECTORY", str(work / "cache"))
