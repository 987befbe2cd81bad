"""Words of the host on one line."""

from __future__ import annotations

from rasa_react_ext.host.reported import one_line


def test_a_long_text_keeps_its_beginning_and_its_end_which_says_what_to_do() -> None:
    shown = one_line(f"No answer\n is recorded. {'x' * 999}\nUSER: /stop. Record it.")
    assert shown.startswith("No answer is recorded. xxx")
    assert shown.endswith("xxx USER: /stop. Record it.")
    assert " … " in shown
    assert len(shown) == 403


def test_a_short_text_is_kept_whole() -> None:
    assert one_line(f"a\n b {'x' * 396}") == f"a b {'x' * 396}"
