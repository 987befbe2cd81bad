"""The Dockerfile of the page, as far as it goes without a container engine."""

from __future__ import annotations

import fnmatch
import os
import tomllib
from pathlib import Path

import pytest

from rasa_react_ext import __version__
from rasa_react_ext.compatibility import TESTED_HOST, host_is_tested
from tests.docs.page import PAGES, Block, blocks
from tests.project.tree import ROOT, run

WHEEL = f"rasa_react_ext-{__version__}-py3-none-any.whl"
FILES = [block for page in PAGES for block in blocks(page) if block.kind == "dockerfile"]
ONE = pytest.mark.parametrize("block", FILES, ids=lambda block: f"{block.page}:{block.line}")
SETTLED = {"USER", "WORKDIR"}
"""Instructions that name nothing of this project."""


def _instructions(block: Block) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in block.text.replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        if name:
            found.setdefault(name, []).append(rest)
    return found


@ONE
def test_the_image_begins_with_the_tested_host(block: Block) -> None:
    found = _instructions(block)
    assert set(found) - SETTLED == {"FROM", "COPY", "RUN"}
    (image,) = found["FROM"]
    name, _, tag = image.partition(":")
    assert name == "rasa/rasa-pro"
    assert host_is_tested(tag), f"not {TESTED_HOST}"


@ONE
def test_the_image_copies_the_wheel_that_make_wheel_builds_and_the_project(block: Block) -> None:
    sources = [rest.split()[0] for rest in _instructions(block)["COPY"]]
    assert sources[-1] == "."
    (pattern,) = sources[:-1]
    assert fnmatch.fnmatch(f"dist/{WHEEL}", pattern)
    assert "-d dist" in run("make", "--dry-run", "wheel").stdout


@ONE
def test_the_image_installs_that_wheel_with_an_extra_that_it_has(
    block: Block, tmp_path: Path
) -> None:
    (tmp_path / WHEEL).touch()
    pip = tmp_path / "pip"
    pip.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n')
    pip.chmod(0o755)
    (command,) = _instructions(block)["RUN"]
    shell = command.replace("/tmp/", f"{tmp_path}/")
    done = run("sh", "-ec", shell, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    *_, installed = (tmp_path / "given").read_text().splitlines()
    wheel, _, extra = installed.partition("[")
    assert wheel == str(tmp_path / WHEEL)
    assert not (tmp_path / WHEEL).exists(), "it is removed from the image"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extra.removesuffix("]") in project["optional-dependencies"]
