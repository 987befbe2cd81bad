"""The pytest plugin: fixtures for a trained assistant, its model and its servers.

Loaded by pytest in every project of the environment, so it imports next to nothing until a
fixture is used, all its names begin with `rasa_` (or `_rasa_`), and a report is touched only
where one was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rasa_react_ext.assistant import Project
    from rasa_react_ext.pytest_plugin.stage import Stage
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
def _rasa_stage(
    rasa_serve: Callable[[Any], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Where assistants are trained and loaded; not for use in tests."""
    from rasa_react_ext.pytest_plugin.stage import Stage

    with Stage(tmp_path_factory.mktemp("rasa"), rasa_serve) as stage:
        yield stage


@pytest.fixture
def rasa_loaded(
    _rasa_stage: Stage,
    rasa_project: Project,
    rasa_model_server: ServedModel,
    rasa_mcp_servers: Mapping[str, Any],
) -> Callable[[], Chat]:
    """The assistant, trained once a session; each call begins a conversation.

    Loaded anew where a folder of tests overrides the model or the servers.
    """
    url = rasa_model_server.base_url
    return lambda: _rasa_stage.chat(rasa_project, url, rasa_mcp_servers)


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
            _show(report, "conversation", chat.transcript or "nothing was said")
        for model in item.stash.get(_MODELS, []):
            if model.unmatched:
                _show(report, "model requests without an answer", _missed(model))


def _show(report: pytest.TestReport, title: str, text: str) -> None:
    """Right below the traceback, before all that was captured."""
    add = getattr(report.longrepr, "addsection", None)
    if add is None:
        report.sections.append((title, text))
    else:
        add(title, text, "-")


def _missed(model: ServedModel) -> str:
    """The server's own explanation of each."""
    answers = [exchange.answer for exchange in model.unmatched]
    return "\n\n".join(str(answer["error"]["message"]) for answer in answers)
