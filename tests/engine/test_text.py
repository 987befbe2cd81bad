from __future__ import annotations

import pytest

from rasa_react_ext.engine.text import sound, visible


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "\ufeff \u200d", "\x00"])
def test_b06_text_in_which_a_reader_sees_nothing_is_blank(text: str) -> None:
    assert visible(text) == ""


@pytest.mark.parametrize("text", ["a", "…", "🙂", "0", "é"])
def test_text_that_can_be_seen_is_kept_without_blanks_around_it(text: str) -> None:
    assert visible(f"\n {text} \t") == text


def test_unpaired_surrogates_are_replaced_and_pairs_joined() -> None:
    assert sound("a\ud83db") == "a\ufffdb"
    assert sound("\ud83d\ude42") == "🙂"
    assert sound("Grüße 🙂") == "Grüße 🙂"
