"""Remote tasks and their reports, on both databases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from rasa_react_ext.store import (
    Acceptance,
    Database,
    DeadLetters,
    Inbox,
    RemoteTask,
    RemoteTasks,
    secret_hash,
)
from rasa_react_ext.store.database import StoreError
from rasa_react_ext.store.inbox import MAX_ATTEMPTS


@pytest.fixture
async def database(store: str) -> AsyncGenerator[Database]:
    """The database, closed at the end."""
    opened = Database(store)
    yield opened
    await opened.aclose()


def task(key: str = "k", **changes: object) -> RemoteTask:
    values = {
        "conversation": "anna",
        "agent": "broker",
        "background": True,
        "secret_hash": secret_hash("s"),
        "deadline": time.time() + 60,
    }
    return RemoteTask(key=key, **{**values, **changes})  # type: ignore[arg-type]


async def test_a_report_is_stored_once_and_read_in_order(database: Database) -> None:
    await RemoteTasks(database).add(task())
    inbox = Inbox(database)
    assert await inbox.accept("k", "s", b"one") is Acceptance.STORED
    assert await inbox.accept("k", "s", b"two") is Acceptance.STORED
    assert await inbox.accept("k", "s", b"one") is Acceptance.AGAIN
    reports = await inbox.unread("k")
    assert [report.body for report in reports] == [b"one", b"two"]
    await inbox.done("k", reports[0].seq)
    assert [report.body for report in await inbox.unread("k")] == [b"two"]


@pytest.mark.parametrize(("key", "secret"), [("k", "wrong"), ("k", ""), ("other", "s")])
async def test_a_report_without_the_secret_changes_nothing(
    database: Database, key: str, secret: str
) -> None:
    await RemoteTasks(database).add(task())
    await RemoteTasks(database).add(task("old", secret_hash=secret_hash("")))
    inbox = Inbox(database)
    assert await inbox.accept(key, secret, b"one") is Acceptance.REFUSED
    assert await inbox.accept("old", "", b"one") is Acceptance.REFUSED
    assert await inbox.counts() == {"unread": 0, "dead": 0}


async def test_a_report_about_a_closed_task_is_not_stored(database: Database) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(task(task_id="t"))
    assert await inbox.key_of("t") == "k"
    await tasks.close("k")
    assert await inbox.accept("k", "s", b"one") is Acceptance.CLOSED
    assert await inbox.key_of("t") == ""
    assert await tasks.open_of("anna") == []


async def test_a_task_with_reports_is_claimed_by_one_worker_while_its_lease_runs(
    database: Database,
) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    for number in range(8):
        await tasks.add(task(f"k{number}"))
        await inbox.accept(f"k{number}", "s", b"one")
    claims = await asyncio.gather(*(tasks.claim(f"w{n}", 30, 3) for n in range(4)))
    keys = [claimed.key for claim in claims for claimed in claim]
    assert len(keys) == len(set(keys))
    keys += [claimed.key for claimed in await tasks.claim("w", 30, 8)]
    assert sorted(keys) == [f"k{number}" for number in range(8)]
    assert await tasks.claim("late", 30, 8) == []
    await tasks.release("k3", "nobody")
    assert await tasks.claim("late", 30, 8) == []
    owner = next(f"w{n}" for n, c in enumerate(claims) if "k0" in [t.key for t in c])
    await tasks.release("k0", owner)
    assert [claimed.key for claimed in await tasks.claim("late", 30, 8)] == ["k0"]


async def test_a_lease_that_ran_out_frees_the_task(database: Database) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(task())
    await inbox.accept("k", "s", b"one")
    assert len(await tasks.claim("dead", -1, 8)) == 1
    assert len(await tasks.claim("next", 30, 8)) == 1


async def test_a_report_that_cannot_be_applied_is_tried_later_and_ends_as_a_dead_letter(
    database: Database,
) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(task())
    await inbox.accept("k", "s", b"one")
    (report,) = await inbox.unread("k")
    assert not await inbox.failed("k", report.seq, "no lock")
    assert await tasks.claim("w", 30, 8) == []
    for _ in range(MAX_ATTEMPTS - 2):
        assert not await inbox.failed("k", report.seq, "no lock")
    assert await inbox.failed("k", report.seq, "no lock")
    assert await inbox.counts() == {"unread": 0, "dead": 1}
    (letter,) = await DeadLetters(database).list()
    assert (letter.task, letter.conversation, letter.party) == ("k", "anna", "broker")
    assert (await DeadLetters(database).replay(None)).queued == (letter.id,)
    assert len(await tasks.claim("w", 30, 8)) == 1


async def test_one_process_at_a_time_looks_after_a_task_nobody_heard_of(
    database: Database,
) -> None:
    tasks = RemoteTasks(database)
    await tasks.add(task())
    (unheard,) = await tasks.unheard_since(time.time() + 1)
    claims = [await tasks.claim_check("k", unheard.checked_at) for _ in range(2)]
    assert claims == [True, False]


async def test_a_secret_that_was_right_once_is_not_trusted_when_it_has_ended(
    database: Database,
) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(task())
    assert await inbox.accept("k", "s", b"one") is Acceptance.STORED
    assert await inbox.accept("k", "s", b"two") is Acceptance.STORED
    assert await inbox.accept("k", "s", b"two") is Acceptance.AGAIN
    assert await inbox.accept("k", "other", b"three") is Acceptance.REFUSED
    assert await inbox.accept("k", "", b"three") is Acceptance.REFUSED
    await tasks.update("k", secret_hash=secret_hash("new"))
    assert await inbox.accept("k", "s", b"three") is Acceptance.REFUSED
    assert await inbox.accept("k", "new", b"three") is Acceptance.STORED
    assert await inbox.accept("k", "new", b"four") is Acceptance.STORED
    await tasks.close("k")
    assert await inbox.accept("k", "new", b"five") is Acceptance.CLOSED
    assert [report.body for report in await inbox.unread("k")] == [
        b"one",
        b"two",
        b"three",
        b"four",
    ]


async def test_a_task_past_its_time_is_found_however_much_its_agent_reports(
    database: Database,
) -> None:
    tasks, now = RemoteTasks(database), time.time()
    await tasks.add(task("late", background=True, deadline=now - 1))
    await tasks.add(task("young", background=True, deadline=now + 60))
    await tasks.add(task("given", background=True, deadline=now - 1, parked=True))
    await tasks.add(task("asks", background=False))
    assert [row.key for row in await tasks.unheard_since(now - 30)] == ["late"]


async def test_a_conversation_and_old_tasks_are_forgotten(database: Database) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    for key, conversation in (("a", "anna"), ("b", "bert"), ("c", "bert")):
        await tasks.add(task(key, conversation=conversation))
        await inbox.accept(key, "s", b"one")
    await tasks.forget_conversation("anna")
    await tasks.close("b")
    await tasks.forget_old(-1)
    assert [left.key for left in await tasks.open()] == ["c"]
    assert await inbox.counts() == {"unread": 1, "dead": 0}
    changed = await tasks.get("c")
    await tasks.update("c", said="half done", said_at=1.0, snapshot=b"x")
    again = await tasks.get("c")
    assert changed is not None
    assert again is not None
    assert (again.said, again.snapshot, again.conversation) == ("half done", b"x", "bert")


async def test_a_report_that_fails_with_any_text_ends_as_a_dead_letter(database: Database) -> None:
    await RemoteTasks(database).add(task())
    inbox = Inbox(database)
    await inbox.accept("k", "s", b"one")
    (report,) = await inbox.unread("k")
    begun = time.time()
    stuck = [await inbox.is_stuck("k", begun - 5)]
    for _ in range(MAX_ATTEMPTS):
        await inbox.failed("k", report.seq, "Error: \x00\ud800 said")
        stuck.append(await inbox.is_stuck("k", begun - 5))
    assert stuck == [False] * 5 + [True] * 16
    assert not await inbox.is_stuck("k", time.time() + 5)
    (letter,) = await DeadLetters(database).list()
    assert letter.error == "Error:  said"


async def test_the_error_of_a_statement_does_not_repeat_its_values(database: Database) -> None:
    tasks = RemoteTasks(database)
    await tasks.add(task(said="words of a user"))
    with pytest.raises(StoreError) as refused:
        await tasks.add(task(said="words of a user"))
    assert "words of a user" not in str(refused.value)


async def test_a_report_of_our_own_is_stored_once(database: Database) -> None:
    tasks = RemoteTasks(database)
    await tasks.add(task())
    assert [await tasks.say("k", b"end") for _ in range(2)] == [True, False]
    assert await Inbox(database).accept("k", "\udcff", b"one") is Acceptance.REFUSED


async def test_words_with_any_character_are_kept_without_those_that_no_database_holds(
    database: Database,
) -> None:
    tasks = RemoteTasks(database)
    await tasks.add(task(said="a\x00b"))
    await tasks.update("k", held="c\x00\ud800d")
    (kept,) = await tasks.open()
    assert (kept.said, kept.held) == ("ab", "cd")
