"""What is hidden from the terminal and the record alike."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.host.observe.redaction import HIDDEN, Redaction

KEY = "sk-abcdef0123456789abcdef"


@pytest.mark.parametrize(
    "name", ["password", "api_key", "access_token", "Authorization", "client_secret", "pin"]
)
@pytest.mark.parametrize("value", ["tell-nobody", 4711, None, {"deep": "tell-nobody"}])
def test_whatever_stands_under_the_name_of_a_secret_is_hidden(name: str, value: Any) -> None:
    assert Redaction().value([{"account": {name: value}}]) == [{"account": {name: HIDDEN}}]
    assert Redaction().value(value, name=name) == HIDDEN


@pytest.mark.parametrize("place", [KEY, [KEY], {"q": KEY}, {"q": ({KEY: 1},)}])
def test_what_has_the_form_of_a_secret_is_removed_at_any_depth(place: Any) -> None:
    assert KEY not in repr(Redaction().value(place))
    assert "<removed>" in repr(Redaction().value(place))


def test_a_secret_of_the_environment_or_of_the_call_is_removed_from_a_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "env-sesame-2")
    redaction = Redaction({"login": [{"password": "open-sesame-1"}], "q": "everyday words"})
    text = redaction.text("open-sesame-1, env-sesame-2, everyday words")
    assert text == "<removed>, <removed>, everyday words"


def test_other_values_stay_as_they_are() -> None:
    value = {"title": "Dune", "copies": [1, 2.5, None, True], "secretary_name": HIDDEN}
    assert Redaction().value(value) == value
