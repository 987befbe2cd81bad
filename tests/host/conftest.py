"""One store and one scripted model for all host tests; a process without agents for each."""

from __future__ import annotations

import gc
import importlib
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from rasa_react_ext.testing import ModelServer, ScriptedModel
from tests.host.parsing import parse_once
from tests.host.project import COMMANDS, Project, hosts_own_warnings
from tests.host.store import store
from tests.mcp_pool.mcp_server import Served, serving

FOREIGN = ("HTTPS_PROXY", "HTTP_PROXY", "REQUESTS_CA_BUNDLE", "SSL_CERTIFICATE", "SSL_VERIFY")
"""Settings of the machine that reach the host's clients."""


@pytest.fixture(scope="session")
def done() -> Counter[str]:
    """What the tools of the store did; emptied before each test."""
    return Counter()


@pytest.fixture(scope="session")
def running_store(done: Counter[str]) -> Iterator[Served]:
    """The store, for the whole session."""
    with serving(lambda: store(done).streamable_http_app()) as served:
        yield served


@pytest.fixture(scope="session")
def running_model() -> Iterator[ModelServer]:
    """The scripted model, for the whole session."""
    with ScriptedModel([{"when": {"model": "nobody"}, "answer": "?"}]).serve() as server:
        yield server


@pytest.fixture
def model(running_model: ModelServer) -> ModelServer:
    """The scripted model with an empty log."""
    running_model.clear()
    return running_model


@pytest.fixture
def script(model: ModelServer) -> Callable[..., ModelServer]:
    """Gives the agents' model these rules, beside those of the command generator."""

    def use(*rules: Any) -> ModelServer:
        model.use([*COMMANDS, *rules])
        return model

    return use


@pytest.fixture
def shop(running_store: Served, done: Counter[str]) -> Served:
    """The store with nothing done yet."""
    done.clear()
    running_store.seen.clear()
    return running_store


@pytest.fixture(scope="session")
def host() -> None:
    """The host, imported once and before a test's clock runs; it warns about its own code."""
    with hosts_own_warnings():
        parse_once()
        for module in ("rasa.core.agent", "rasa.model_training", "rasa.e2e_test.e2e_test_runner"):
            importlib.import_module(module)
        if not structlog.is_configured():
            importlib.import_module("rasa.utils.log_utils").configure_structlog(logging.WARNING)
        gc.collect()  # files that the host leaves open while it is imported


@pytest.fixture
def project(
    host: None,
    model: ModelServer,
    shop: Served,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Project]:
    """A project whose agent `clerk` has the store; the host's registers are empty."""
    monkeypatch.setenv("OPENAI_API_KEY", "offline")
    monkeypatch.setenv("RASA_CACHE_DIRECTORY", str(tmp_path_factory.getbasetemp() / "cache"))
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    _forget_agents()
    monkeypatch.chdir(tmp_path)
    yield Project(folder=tmp_path, model_url=model.base_url, servers={"store": shop.url})
    _forget_agents()


def _forget_agents() -> None:
    """Empty the host's process-wide register of agents."""
    if "rasa.agents.agent_manager" in sys.modules:
        from rasa.agents.agent_manager import AgentManager

        AgentManager().agents.clear()
