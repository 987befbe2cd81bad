"""A file of variables that cannot be read, at every command that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rasa_react_ext.cli.main import main
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.dot_env import read_dot_env

COMMANDS = {
    "check": (["check"], 1),
    "forget": (["forget", "somebody", "--yes"], 3),
    "model record": (["model", "record", "cassette", "--upstream", "http://127.0.0.1:9/v1"], 3),
    "tasks list": (["tasks", "list"], 3),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".env").write_bytes(b"ONE=1\nNAME=caf\xe9\n")
    (tmp_path / "endpoints.yml").write_text("model_groups: []\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_variables_that_are_not_utf8_are_told_with_file_line_and_fix(
    name: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments, code = COMMANDS[name]
    assert main(arguments) == code
    captured = capfd.readouterr()
    words = captured.out + captured.err
    for part in (".env", "2", "not UTF-8", "Save the file as UTF-8."):
        assert part in words
    assert "fault of rasa-react" not in words


def test_the_file_of_a_folder_above_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "desk").mkdir()
    monkeypatch.chdir(project / "desk")
    with pytest.raises(ConfigurationError) as refused:
        read_dot_env()
    assert refused.value.file == str(project / ".env")
    assert refused.value.key == "line 2"
