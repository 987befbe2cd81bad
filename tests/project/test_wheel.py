"""The wheel: whole, installable, and its engine free of the host and every SDK."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.tree import PACKAGE, ROOT, run, tracked_files

NOT_FOR_THE_ENGINE = ["a2a", "aiohttp", "httpx", "litellm", "mcp", "openai", "rasa", "starlette"]

LOADED_WITH_THE_ENGINE = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
engine = importlib.import_module("rasa_react_ext.engine")
for module in pkgutil.walk_packages(engine.__path__, "rasa_react_ext.engine."):
    importlib.import_module(module.name)
print(json.dumps({"path": list(engine.__path__), "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without the network."""
    directory = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory)
    assert done.returncode == 0, done.stderr
    return next(directory.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds the installed wheel and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--offline", "--python", sys.executable, "--target", target)
    done = run(sys.executable, "-m", "uv", "pip", "install", *options, wheel)
    assert done.returncode == 0, done.stderr
    return target


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    package = {name for name in names if ".dist-info/" not in name}
    tracked = {path for path in tracked_files() if path.is_relative_to(PACKAGE)}
    assert {path.relative_to(ROOT).as_posix() for path in tracked} <= package
    assert {name for name in package if not name.startswith("rasa_react_ext/")} == set()
    assert "rasa_react_ext/py.typed" in package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_installed_engine_loads_neither_the_host_nor_an_sdk(installed: Path) -> None:
    done = run(sys.executable, "-I", "-c", LOADED_WITH_THE_ENGINE, installed, cwd=installed)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["path"] == [str(installed / "rasa_react_ext" / "engine")]
    assert [name for name in NOT_FOR_THE_ENGINE if name in loaded["modules"]] == []
