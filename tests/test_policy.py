"""What the policy refuses before it looks at a project."""

from __future__ import annotations

import pytest

from rasa_react_ext import compatibility
from rasa_react_ext.errors import HostError
from tests.host.project import hosts_own_warnings

pytestmark = pytest.mark.host


def test_the_policy_is_not_loaded_by_a_host_it_was_not_tested_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hosts_own_warnings():
        import rasa.core.agent  # noqa: F401 - the host's modules import each other
        from rasa.shared.exceptions import InvalidConfigException

        from rasa_react_ext.policy import ReActPolicy
    monkeypatch.setattr(compatibility, "TESTED_HOST", "3.99")
    nothing: dict[str, object] = {
        "model_storage": None,
        "resource": None,
        "execution_context": None,
    }
    with pytest.raises(HostError, match="RASA_REACT_EXT_ANY_HOST=1") as refused:
        ReActPolicy.load({}, **nothing)
    # The host shows this kind of error as it is and does not start.
    assert isinstance(refused.value, InvalidConfigException)
