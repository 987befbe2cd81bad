from __future__ import annotations

from demo.assistant import HostLog


def test_errors_of_the_host_are_kept_in_its_words_and_handed_out_once() -> None:
    log = HostLog()
    log(None, "info", {"event": "fine"})
    log(None, "error", {"event": "flow.invalid", "event_info": "This flow\n  is wrong."})
    log(None, "critical", {"event": "down"})
    assert log.take() == ["This flow is wrong.", "down"]
    assert log.take() == []


def test_the_log_passes_every_entry_on_unchanged() -> None:
    entry = {"event": "x", "level": "error"}
    assert HostLog()(None, "error", entry) is entry
