"""The trace page: built from a record, shown by a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.cli.main import main
from rasa_react_ext.cli.page import build_page, read_record
from rasa_react_ext.errors import ConfigurationError
from tests.conftest import skip_or_fail

BROWSER = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _line(what: str, ms: float, **facts: Any) -> str:
    entry = {"at": "2026-11-30T10:00:00+00:00", "ms": ms, "turn": "t1", "agent": "desk"}
    return json.dumps({**entry, "what": what, **facts})


def _record(folder: Path, user: str = "How is Nordwind?") -> Path:
    file = folder / "customer.jsonl"
    lines = [
        _line("turn_started", 0, conversation="customer", flow="f", step="s", user=user, tools=[]),
        _line("model_asked", 1, attempt=1, messages=2, closing=None),
        _line("model_failed", 5, kind="timeout", message="slow", retry_in_seconds=0.1),
        _line("model_asked", 10, attempt=2, messages=2, closing=None),
        _line(
            "model_answered",
            40,
            model="gpt",
            first_token_ms=9.0,
            prompt_tokens=10,
            completion_tokens=2,
        ),
        _line("call_started", 41, call="a", tool="find"),
        _line("call_started", 42, call="b", tool="price"),
        _line("call_finished", 90, call="a", tool="find", is_error=False, duration_ms=40.0),
        _line("call_finished", 90, call="b", tool="price", is_error=True, duration_ms=48.0),
        _line("slot_set", 91, slot="topic", value="tax"),
        _line("turn_ended", 95, outcome="completed", reason="", model_calls=1, tokens=12),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_model_calls_and_tools_are_bars_where_they_ran(tmp_path: Path) -> None:
    [turn] = read_record(_record(tmp_path))
    bars = [(bar["kind"], bar["name"], bar["from"], bar["to"], bar["bad"]) for bar in turn["bars"]]
    assert bars == [
        ("model", "model", 1, 5, True),
        ("model", "gpt", 10, 40, False),
        ("tool", "find", 41, 81.0, False),
        ("tool", "price", 42, 90.0, True),
    ]


def _with_external_agent(folder: Path) -> Path:
    """The record of a hand-over that goes on in the background, and of the report that ends it."""
    ends = {"reason": ""}
    turn = [
        _line("turn_started", 0, conversation="anna", flow="trade", user="Buy it", kind="external"),
        _line("agent_asked", 2),
        _line("agent_accepted", 10, task="task-4711", context="c"),
        _line("agent_said", 12, text="Working on it."),
        _line("agent_in_background", 20, task="task-4711"),
        _line("turn_ended", 21, outcome="background", **ends),
    ]
    started = {"conversation": "anna", "flow": "", "user": "", "kind": "deliver_report"}
    report = [
        _line("turn_started", 0, **started),
        _line("agent_accepted", 0, task="task-4711", context="c"),
        _line("agent_answered", 1, state="completed", text="Bought.", task="task-4711"),
        _line("turn_ended", 90, outcome="delivered", **ends),
    ]
    file = folder / "anna.jsonl"
    lines = [*turn, *(line.replace('"turn": "t1"', '"turn": "t2"') for line in report)]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_an_external_agent_is_a_bar_until_it_stops_or_goes_on_alone(tmp_path: Path) -> None:
    turn, report = read_record(_with_external_agent(tmp_path))
    (bar,) = turn["bars"]
    assert (bar["kind"], bar["name"], bar["from"], bar["to"]) == ("agent", "desk", 2, 20)
    assert (bar["first"], bar["bad"], bar["note"]) == (10, False, "goes on in the background")
    assert (turn["kind"], turn["outcome"]) == ("external", "background")
    assert (report["kind"], report["outcome"], report["bars"]) == (
        "deliver_report",
        "delivered",
        [],
    )


@pytest.mark.parametrize(
    ("last", "note", "bad"),
    [
        (("agent_answered", {"state": "completed"}), "completed", False),
        (("agent_answered", {"state": "rejected"}), "rejected", True),
        (("turn_ended", {"outcome": "failed"}), "failed", True),
    ],
)
def test_an_agents_bar_tells_how_it_ended(
    tmp_path: Path, last: tuple[str, dict[str, str]], note: str, bad: bool
) -> None:
    file = tmp_path / "r.jsonl"
    lines = [
        _line("turn_started", 0, user="x"),
        _line("agent_asked", 1),
        _line(last[0], 9, **last[1]),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    (bar,) = read_record(file)[0]["bars"]
    assert (bar["note"], bar["bad"]) == (note, bad)


def test_a_browser_shows_hand_over_background_and_report(tmp_path: Path) -> None:
    shown = _dom(tmp_path, "dark", _with_external_agent(tmp_path))
    assert "with external agents: 1" in shown
    assert shown.count('class="bar agent"') == 1
    assert "(the agent reports about its task)" in shown
    assert "desk (external) in trade" in shown
    assert "in the background" in shown
    assert "task: task-4711" in shown


_FAILED = ("turn_ended", {"outcome": "failed"})
_NO_MODEL = ("model_failed", {"kind": "timeout", "retry_in_seconds": None})
_NO_TOOL = ("call_finished", {"call": "a", "tool": "find", "is_error": True, "duration_ms": 1.0})


@pytest.mark.parametrize(
    ("happened", "errors"),
    [
        ([_NO_MODEL, _FAILED], 1),
        ([("model_failed", {"kind": "timeout", "retry_in_seconds": 0.1}), _NO_MODEL, _FAILED], 2),
        ([("agent_answered", {"state": "rejected"}), _FAILED], 1),
        ([_NO_TOOL, _FAILED], 2),
        ([_NO_TOOL, ("turn_ended", {"outcome": "completed"})], 1),
        ([_FAILED], 1),
    ],
)
def test_what_went_wrong_is_one_error_also_where_the_turn_failed_by_it(
    tmp_path: Path, happened: list[tuple[str, dict[str, Any]]], errors: int
) -> None:
    file = tmp_path / "r.jsonl"
    lines = [_line("turn_started", 0, user="x"), *(_line(what, 1, **of) for what, of in happened)]
    file.write_text("\n".join(lines), encoding="utf-8")
    (turn,) = read_record(file)
    assert turn["errors"] == errors


def test_a_turn_without_an_end_is_unfinished(tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    file.write_text(_line("turn_started", 0, user="Hello"), encoding="utf-8")
    assert read_record(file)[0]["outcome"] == "unfinished"


@pytest.mark.parametrize(
    ("content", "place"),
    [(None, "file"), ("", "file"), ("no json", "line 1"), ('{"a": 1}', "line 1"), ("[]", "line 1")],
)
def test_what_is_no_record_is_refused_by_place(
    tmp_path: Path, content: str | None, place: str
) -> None:
    file = tmp_path / "wrong.jsonl"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=place):
        read_record(file)


def test_the_page_asks_for_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = build_page(read_record(_record(tmp_path)), title="t")
    assert "default-src 'none'" in page
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in page


def test_the_command_writes_the_page_beside_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _record(tmp_path)
    assert main(["trace", str(record)]) == 0
    assert record.with_suffix(".html").is_file()
    assert "customer.html" in capsys.readouterr().out


@pytest.mark.parametrize("cut", [b'{"at": "2026', b"\xff\xfe", b"[1]", b'{"ms": "a"}'])
def test_lines_that_are_cut_or_broken_are_told_and_left_out(
    tmp_path: Path, cut: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _record(tmp_path)
    lines = record.read_bytes().splitlines()
    record.write_bytes(b"\n".join([lines[0], cut, *lines[1:], cut]))
    assert main(["trace", str(record)]) == 0
    assert "How is Nordwind?" in record.with_suffix(".html").read_text(encoding="utf-8")
    shown = capsys.readouterr().err
    assert shown == f"Warning: lines 2, {len(lines) + 2} are cut or broken, and left out.\n"


@pytest.mark.parametrize("spelling", ["customer.jsonl", "f/../customer.jsonl", "link", "hard"])
def test_a_page_never_replaces_its_record(
    tmp_path: Path, spelling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _record(tmp_path)
    written = record.read_bytes()
    (tmp_path / "f").mkdir()
    (tmp_path / "link").symlink_to(record)
    (tmp_path / "hard").hardlink_to(record)
    assert main(["trace", str(record), "-o", str(tmp_path / spelling)]) == 2
    assert "is the record itself. Name another file." in capsys.readouterr().err
    assert record.read_bytes() == written


def test_a_record_with_the_ending_of_a_page_stays_as_well(tmp_path: Path) -> None:
    record = _record(tmp_path).rename(tmp_path / "customer.html")
    written = record.read_bytes()
    assert main(["trace", str(record)]) == 2
    assert record.read_bytes() == written


@pytest.mark.parametrize(
    "page", ["/proc/x.html", "{folder}/new/y.html", "{folder}", "{file}/x.html"]
)
def test_a_page_that_cannot_be_written_is_a_refusal_of_the_system(
    tmp_path: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _record(tmp_path)
    assert main(["trace", str(record), "-o", page.format(folder=tmp_path, file=record)]) == 6
    shown = capsys.readouterr().err
    assert "cannot be written: " in shown
    assert shown.endswith("Name another file with --output.\n")
    assert not (tmp_path / "new").exists()


def test_the_command_fails_with_one_line_for_a_missing_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(tmp_path / "none.jsonl")]) != 0
    shown = capsys.readouterr().err
    assert "none.jsonl" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_shows_turns_bars_and_rows(tmp_path: Path, theme: str) -> None:
    shown = _shown_by_a_browser(tmp_path, theme, "How is Nordwind?")
    assert f'data-theme="{theme}"' in shown
    assert "1 agent turns · 2 model calls · 2 tool calls · 2 errors · 12 tokens" in shown
    assert shown.count('class="bar') == 4
    assert shown.count("<li>") == 11
    assert "How is Nordwind?" in shown


def test_what_a_user_said_is_text_and_never_markup(tmp_path: Path) -> None:
    shown = _shown_by_a_browser(tmp_path, "light", "</script><img src=x onerror=alert(1)>")
    assert "<img" not in shown.partition("<main")[2].partition("</main>")[0]


def _shown_by_a_browser(folder: Path, theme: str, user: str) -> str:
    return _dom(folder, theme, _record(folder, user))


def _dom(folder: Path, theme: str, record: Path) -> str:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        skip_or_fail("no Chromium to look at the page with")
    page = folder / "page.html"
    page.write_text(build_page(read_record(record), title="t"), encoding="utf-8")
    ran = subprocess.run(
        [
            browser,
            *BROWSER,
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            f"{page.as_uri()}?theme={theme}",
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return ran.stdout
