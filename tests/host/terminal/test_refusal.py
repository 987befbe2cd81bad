"""What the host refuses to load is told with the file, the key and what to write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rasa.core.config.configuration import Configuration
from rasa.shared.exceptions import ConnectionException

from rasa_react_ext.errors import ConfigurationError, HostError, PeerError
from rasa_react_ext.host.settings import read_settings
from rasa_react_ext.host.terminal.refusal import Named, NotLoadedError, refusals_placed
from rasa_react_ext.host.terminal.session import configure
from tests.host.project import hosts_own_warnings

ENDPOINTS = """\
model_groups:
  - id: gpt
    models:
      - provider: openai
        model: gpt-5.1
mcp_servers:
  - name: rooms
    type: http
    url: http://127.0.0.1:9/mcp
"""
AGENT = """\
agent:
  name: desk
  protocol: RASA
  description: A desk.
configuration:
  llm:
    model_group: gpt
connections:
  mcp_servers:
    - name: rooms
"""
ADDRESS = "http://127.0.0.1:9/mcp"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Named]:
    """A project whose files are in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Configuration, "_instance", None)
    endpoints = Path(f"{tmp_path.name}.yml")  # the host remembers what it read by the name
    endpoints.write_text(ENDPOINTS, encoding="utf-8")
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    (folder / "config.yml").write_text(AGENT, encoding="utf-8")
    with hosts_own_warnings():
        yield Named(endpoints=endpoints, sub_agents=Path("agents"))


def _refused(named: Named) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as refused, refusals_placed(named):
        configure(named)
    return refused.value


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_files_in_order_are_read(named: Named) -> None:
    with refusals_placed(named):
        configure(named)
    assert set(Configuration.get_instance().available_agents.agents) == {"desk"}


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "fix"),
    [
        (ADDRESS, "${ROOMS_URL}", 9, "ROOMS_URL", "Set ROOMS_URL"),
        ("mcp_servers:", "mcp_servers: [", 7, "", "Correct the YAML there."),
        ("url:", "urk:", 9, "mcp_servers: rooms: urk", "Did you mean 'url'?"),
        ("mcp_servers:", "nlg: 3\nmcp_servers:", 6, "nlg", "Write keys"),
        ("mcp_servers:", "interaction_handling: 3\nmcp_servers:", 6, "interaction_handling", "W"),
        (" - name: rooms", " - rooms\n  - name: halls", 7, "mcp_servers: 0", "Write keys"),
        (ENDPOINTS, "- 1\n", None, "", "Give it the form"),
        (ENDPOINTS, "tracing:\n  type: otlp\n", 1, "tracing: endpoint", "Write it."),
        (ENDPOINTS, "metrics:\n  type: otlp\n", 1, "metrics: endpoint", "Write it."),
    ],
)
def test_a_mistake_in_the_endpoints_file_is_told_with_its_place(
    named: Named, old: str, new: str, line: int | None, key: str, fix: str
) -> None:
    _rewrite(named.endpoints, old, new)
    error = _refused(named)
    place = str(named.endpoints) if line is None else f"{named.endpoints}:{line}"
    assert (error.file, error.key) == (place, key)
    assert error.fix.startswith(fix)
    assert str(error).startswith(f"{place}: {key}: " if key else f"{place}: ")


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "fix"),
    [
        ("  llm:", "  timeout: soon\n  llm:", 6, "configuration: timeout", "Write a whole number"),
        ("RASA", "RASAX", 3, "agent: protocol", "Did you mean 'RASA'?"),
        ("name: desk", "name: [desk", 3, "", "Correct the YAML there."),
        (AGENT, "5\n", 1, "", "Write `agent:`"),
    ],
)
def test_a_mistake_in_a_sub_agent_is_told_with_its_place(
    named: Named, old: str, new: str, line: int, key: str, fix: str
) -> None:
    _rewrite(named.sub_agents / "desk" / "config.yml", old, new)
    error = _refused(named)
    assert (error.file, error.key) == (f"agents/desk/config.yml:{line}", key)
    assert error.fix.startswith(fix)


def test_a_mistake_in_our_section_is_told_with_its_place(named: Named) -> None:
    _rewrite(named.endpoints, "mcp_servers:", "rasa_react_ext:\n  trace_foldr: t\nmcp_servers:")
    with pytest.raises(ConfigurationError) as refused, refusals_placed(named):
        read_settings({}, {"trace_foldr": "t"}, endpoints_file=str(named.endpoints))
    assert str(refused.value) == (
        f"{named.endpoints}:7: rasa_react_ext: trace_foldr: this key is unknown. "
        "Did you mean 'trace_folder'?"
    )


@pytest.mark.parametrize(
    ("file", "key", "place"),
    [
        ("sub_agents: desk: config.yml", "configuration: llm", "agents/desk/config.yml:6"),
        ("sub_agents: desk: config.yml", "configuration: module", "agents/desk/config.yml:5"),
        ("sub_agents: desk", "agent", "agents/desk/config.yml:1"),
        ("sub_agents: till: config.yml", "agent", "sub_agents/till/config.yml"),
        ("endpoints.yml", "mcp_servers: rooms", "ENDPOINTS:7"),
        ("config.yml", "policies: ReActPolicy: max_steps", "config.yml:3"),
        ("credentials.yml", "telegram", "credentials.yml"),
        ("environment", "asyncpg", "environment"),
    ],
)
def test_what_we_refuse_ourselves_has_the_path_and_the_line_where_it_is_found(
    named: Named, file: str, key: str, place: str
) -> None:
    Path("config.yml").write_text("policies:\n- name: ReActPolicy\n  max_steps: 0\n")
    place = place.replace("ENDPOINTS", str(named.endpoints))
    error = ConfigurationError(file=file, key=key, problem="it is wrong.", fix="Mend it.")
    with pytest.raises(ConfigurationError) as refused:
        _raise_placed(named, error)
    assert str(refused.value) == f"{place}: {key}: it is wrong. Mend it."


def test_the_first_of_several_mistakes_is_told_and_where_to_see_the_others(named: Named) -> None:
    _rewrite(named.endpoints, ADDRESS, "${ROOMS_URL}")
    _rewrite(named.sub_agents / "desk" / "config.yml", "RASA", "RASAX")
    error = _refused(named)
    assert error.key == "ROOMS_URL"
    assert error.fix.endswith("`rasa-react check` shows this and 1 more.")


def test_a_model_that_is_not_loaded_is_blamed_only_where_the_files_are_in_order(
    named: Named,
) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.tar\.gz: the host could not load"):
        _raise_placed(named, NotLoadedError("a.tar.gz"))
    _rewrite(named.endpoints, ADDRESS, "${ROOMS_URL}")
    with pytest.raises(ConfigurationError, match="ROOMS_URL is not set"):
        _raise_placed(named, NotLoadedError("a.tar.gz"))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ConnectionException("No broker."), PeerError, "No broker. Start it"),
        (SystemExit(1), HostError, "given up"),
        (KeyError("lost"), KeyError, "lost"),
        (PermissionError(13, "Permission denied"), PermissionError, "denied"),
    ],
)
def test_what_no_file_is_to_blame_for_is_not_put_on_one(
    named: Named, error: BaseException, kind: type[BaseException], words: str
) -> None:
    with pytest.raises(kind, match=words):
        _raise_placed(named, error)


def _raise_placed(named: Named, error: BaseException) -> None:
    with refusals_placed(named):
        raise error
