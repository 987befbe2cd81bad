"""What was given up on is listed with its reason, and can be tried again, on both databases."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest
import sqlalchemy as sa

from rasa_react_ext.store import (
    Database,
    DeadLetters,
    Inbox,
    RemoteTask,
    RemoteTasks,
    ServedPushes,
    secret_hash,
)
from rasa_react_ext.store.inbox import MAX_ATTEMPTS
from rasa_react_ext.store.served_schema import task as served_task
from tests.store.served import serve_a_task


@pytest.fixture
async def database(store: str) -> AsyncGenerator[Database]:
    """The database, closed at the end."""
    opened = Database(store)
    yield opened
    await opened.aclose()


async def give_up_report(database: Database, key: str = "k") -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(
        RemoteTask(key=key, conversation="anna", agent="broker", secret_hash=secret_hash("s"))
    )
    await inbox.accept(key, "s", b"one")
    (report,) = await inbox.unread(key)
    for _ in range(MAX_ATTEMPTS):
        await inbox.failed(key, report.seq, "no lock")


async def give_up_push(database: Database, task_id: str = "t") -> None:
    await serve_a_task(database, task_id, subscribed=True)
    (push,) = await ServedPushes(database).take(1, 30)
    await ServedPushes(database).failed(push.push_id, "answered 500", retry_at=None)


async def test_letters_of_both_kinds_are_listed_with_what_they_are_about(
    database: Database,
) -> None:
    await give_up_report(database)
    await give_up_push(database)
    report, push = await DeadLetters(database).list()
    assert (report.id[:6], report.task, report.conversation) == ("inbox-", "k", "anna")
    assert (report.party, report.attempts, report.error) == ("broker", MAX_ATTEMPTS, "no lock")
    assert (push.id[:7], push.task, push.conversation) == ("outbox-", "t", "a2a:shop:c")
    assert (push.party, push.attempts, push.error) == ("shop", 1, "answered 500")
    assert report.since == pytest.approx(time.time(), abs=60)


async def test_one_letter_or_all_are_due_again_at_once(database: Database) -> None:
    await give_up_report(database)
    await give_up_push(database)
    letters = DeadLetters(database)
    report, push = await letters.list()
    assert (await letters.replay([report.id])).queued == (report.id,)
    assert [letter.id for letter in await letters.list()] == [push.id]
    assert [task.key for task in await RemoteTasks(database).claim("w", 30, 8)] == ["k"]
    assert (await letters.replay(None)).queued == (push.id,)
    (due,) = await ServedPushes(database).take(8, 30)
    assert (due.task_id, due.attempts) == ("t", 1)


async def test_an_unknown_letter_stops_all_of_a_wish(database: Database) -> None:
    await give_up_report(database)
    letters = DeadLetters(database)
    (report,) = await letters.list()
    for unknown in ("inbox-999", "outbox-1", "k", "inbox-", "inbox-x"):
        assert (await letters.replay([report.id, unknown])).unknown == (unknown,)
    assert len(await letters.list()) == 1


async def test_a_report_for_a_closed_task_stays_a_dead_letter(database: Database) -> None:
    await give_up_report(database)
    await RemoteTasks(database).close("k")
    letters = DeadLetters(database)
    (report,) = await letters.list()
    assert report.closed
    assert (await letters.replay(None)).closed == (report.id,)
    assert await Inbox(database).unread("k") == []


async def test_a_push_of_a_task_that_has_ended_says_so_and_is_sent_again(
    database: Database,
) -> None:
    await give_up_push(database)
    letters = DeadLetters(database)
    (push,) = await letters.list()
    assert not push.closed
    async with database.transaction() as connection:
        await connection.execute(sa.update(served_task).values(ended=True))
    (push,) = await letters.list()
    assert push.closed
    assert (await letters.replay(None)).queued == (push.id,)


async def test_a_report_that_was_applied_after_a_failed_attempt_is_no_dead_letter(
    database: Database,
) -> None:
    tasks, inbox = RemoteTasks(database), Inbox(database)
    await tasks.add(RemoteTask(key="k", conversation="a", agent="b", secret_hash=secret_hash("s")))
    await inbox.accept("k", "s", b"one")
    (report,) = await inbox.unread("k")
    await inbox.failed("k", report.seq, "no lock")
    await inbox.done("k", report.seq)
    assert await inbox.counts() == {"unread": 0, "dead": 0}
    assert await DeadLetters(database).list() == []


async def test_a_dead_letter_stays_one_when_later_reports_are_applied(database: Database) -> None:
    await give_up_report(database)
    inbox = Inbox(database)
    await inbox.accept("k", "s", b"two")
    (report,) = await inbox.unread("k")
    await inbox.done("k", report.seq)
    assert await inbox.counts() == {"unread": 0, "dead": 1}
