"""The pytest plugin: fixtures for a trained assistant, its model and its servers.

Loaded by pytest in every project of the environment, so it imports next to nothing until a
fixture is used, all its names begin with `rasa_`, and a report is touched only where one was.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rasa_react_ext.assistant import LoadedAssistant, Project
    from rasa_react_ext.testing import ServedModel
    from rasa_react_ext.testing.chat import Chat

__all__ = [
    "pytest_runtest_makereport",
    "rasa_assistant",
    "rasa_loaded",
    "rasa_mcp_servers",
    "rasa_model",
    "rasa_model_server",
    "rasa_project",
    "rasa_serve",
]

_CHATS = pytest.StashKey["list[Chat]"]()
_MODELS = pytest.StashKey["list[ServedModel]"]()


@pytest.fixture(scope="session")
def rasa_project(pytestconfig: pytest.Config) -> Project:
    """The project under test; override it where its files are named otherwise."""
    from rasa_react_ext.assistant import Project

    return Project(folder=pytestconfig.rootpath)


@pytest.fixture(scope="session")
def rasa_mcp_servers() -> Mapping[str, Any]:
    """MCP servers for the tests, by their names in endpoints.yml; override it to give some.

    Each is a URL, or what `rasa_serve` takes.
    """
    return {}


@pytest.fixture(scope="session")
def rasa_model_server() -> Iterator[ServedModel]:
    """The running model; override it to replay a cassette instead of a script."""
    from rasa_react_ext.testing import ScriptedModel

    with ScriptedModel([]).serve() as server:
        yield server


@pytest.fixture
def rasa_model(request: pytest.FixtureRequest, rasa_model_server: ServedModel) -> ServedModel:
    """The model with an empty log; `rasa_model.use(script)` gives it the test's answers."""
    rasa_model_server.clear()
    request.node.stash.setdefault(_MODELS, []).append(rasa_model_server)
    return rasa_model_server


@pytest.fixture(scope="session")
def rasa_serve() -> Iterator[Callable[[Any], str]]:
    """Serves an MCP server or an ASGI application until the end of the session; gives the URL."""
    from rasa_react_ext.testing.hosted import serve_application

    with ExitStack() as stack:
        yield lambda application: stack.enter_context(serve_application(application))


@pytest.fixture(scope="session")
def rasa_loaded(
    rasa_project: Project,
    rasa_model_server: ServedModel,
    rasa_mcp_servers: Mapping[str, Any],
    rasa_serve: Callable[[Any], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[], Chat]]:
    """The assistant, trained and loaded once a session; each call begins a conversation."""
    from anyio.from_thread import start_blocking_portal

    from rasa_react_ext.testing.chat import Chat

    urls = {
        name: server if isinstance(server, str) else rasa_serve(server)
        for name, server in rasa_mcp_servers.items()
    }
    work = tmp_path_factory.mktemp("rasa")
    model_url = rasa_model_server.base_url
    project = _offline(rasa_project, model_url, urls, work)
    with ExitStack() as stack:
        _set_environment(stack.enter_context(pytest.MonkeyPatch.context()), model_url, work)
        portal = stack.enter_context(start_blocking_portal())
        assistant = stack.enter_context(
            portal.wrap_async_context_manager(_trained_and_loaded(project, work))
        )
        yield lambda: Chat(assistant.conversation(uuid.uuid4().hex), portal)


@pytest.fixture
def rasa_assistant(
    request: pytest.FixtureRequest, rasa_loaded: Callable[[], Chat], rasa_model: ServedModel
) -> Chat:
    """A new conversation with the assistant."""
    del rasa_model  # asked for, so that its log begins with this test
    chat = rasa_loaded()
    request.node.stash.setdefault(_CHATS, []).append(chat)
    return chat


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Add to a failure what was said and what the model had no answer for."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if call.when == "call" and report.failed:
        for chat in item.stash.get(_CHATS, []):
            report.sections.append(("conversation", chat.transcript or "nothing was said"))
        for model in item.stash.get(_MODELS, []):
            if model.unmatched:
                report.sections.append(("model requests without an answer", _missed(model)))


def _missed(model: ServedModel) -> str:
    """The server's own explanation of each."""
    answers = [exchange.answer for exchange in model.unmatched]
    return "\n\n".join(str(answer["error"]["message"]) for answer in answers)


def _offline(project: Project, model_url: str, servers: Mapping[str, str], work: Path) -> Project:
    """The project with endpoints of its own, which point at the test's servers."""
    from rasa_react_ext.testing.endpoints import offline_endpoints

    project.check()
    written = project.folder / project.endpoints
    text = offline_endpoints(
        written.read_text(encoding="utf-8"),
        model_url=model_url,
        servers=servers,
        store=work / "store.db",
        file=str(written),
    )
    endpoints = work / "endpoints.yml"
    endpoints.write_text(text, encoding="utf-8")
    return replace(project, endpoints=str(endpoints))


def _set_environment(environment: pytest.MonkeyPatch, model_url: str, work: Path) -> None:
    """No request with a real key, no telemetry, and a training cache that goes with the test."""
    environment.setenv("OPENAI_API_KEY", "offline")
    environment.setenv("OPENAI_API_BASE", model_url)
    environment.setenv("OPENAI_BASE_URL", model_url)
    environment.setenv("RASA_TELEMETRY_ENABLED", "false")
    environment.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    environment.setenv("RASA_CACHE_DIRECTORY", str(work / "cache"))


@asynccontextmanager
async def _trained_and_loaded(project: Project, work: Path) -> AsyncGenerator[LoadedAssistant]:
    from rasa_react_ext.assistant import loaded, train

    archive = await train(project, work)
    async with loaded(project, archive) as assistant:
        yield assistant
