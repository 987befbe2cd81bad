from __future__ import annotations

import subprocess
import sys

import pytest

from rasa_react_ext import compatibility
from rasa_react_ext.compatibility import check_host, host_is_tested, installed_versions
from rasa_react_ext.errors import HostError


@pytest.mark.parametrize("version", ["3.21.0", "3.21.14", "3.21.0rc2", "3.21"])
def test_patch_releases_of_the_tested_host_are_accepted(version: str) -> None:
    assert host_is_tested(version)


@pytest.mark.parametrize("version", ["3.22.0", "3.2.1", "3.210.0", "4.21.0", "3.20.9", "", "x"])
def test_other_hosts_are_not(version: str) -> None:
    assert not host_is_tested(version)


def test_the_installed_host_passes() -> None:
    check_host({})
    assert installed_versions()["rasa-pro"] is not None


def test_an_untested_host_is_refused_with_the_way_to_override(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compatibility, "TESTED_HOST", "3.99")
    with pytest.raises(HostError, match=r"tested with 3\.99\.x.*RASA_REACT_EXT_ANY_HOST=1"):
        check_host({"RASA_REACT_EXT_ANY_HOST": "0"})
    check_host({"RASA_REACT_EXT_ANY_HOST": "1"})


def test_a_missing_host_is_named() -> None:
    """In a process that sees this package and no installed distribution."""
    code = (
        "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
        "from rasa_react_ext.compatibility import check_host\n"
        "try: check_host({})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "HostError Rasa Pro is not installed. Install rasa-pro 3.21.\n"
