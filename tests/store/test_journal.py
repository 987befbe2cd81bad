"""Notes of calls survive, belong to one conversation and agent, and are removed."""

from __future__ import annotations

from rasa_react_ext.store import Database, Journal, JournalEntry


def _entry(turn: str, key: str = "k") -> JournalEntry:
    return JournalEntry(turn=turn, call_key=key)


async def test_a_note_is_there_for_another_process(store: str) -> None:
    writer, reader = Database(store), Database(store)
    await Journal(writer).write("c", "a", _entry("t"))
    assert await Journal(reader).entries("c", "a") == [_entry("t")]
    await writer.aclose()
    await reader.aclose()


async def test_notes_of_other_conversations_and_agents_are_not_seen(store: str) -> None:
    database = Database(store)
    journal = Journal(database)
    await journal.write("c", "a", _entry("t"))
    assert await journal.entries("other", "a") == []
    assert await journal.entries("c", "other") == []
    await database.aclose()


async def test_a_turn_or_one_call_of_it_is_forgotten(store: str) -> None:
    database = Database(store)
    journal = Journal(database)
    for turn, key in (("saved", "k"), ("lost", "k"), ("lost", "other")):
        await journal.write("c", "a", _entry(turn, key))
    await journal.forget("c", "a", ["saved"])
    assert await journal.entries("c", "a") == [_entry("lost"), _entry("lost", "other")]
    await journal.forget("c", "a", ["lost"], call_key="k")
    assert await journal.entries("c", "a") == [_entry("lost", "other")]
    await database.aclose()


async def test_a_conversation_is_forgotten_whole_and_alone(store: str) -> None:
    database = Database(store)
    journal = Journal(database)
    await journal.write("c", "a", _entry("t"))
    await journal.write("c", "b", _entry("t"))
    await journal.write("other", "a", _entry("t"))
    await journal.forget_conversation("c")
    assert await journal.entries("c", "a") == []
    assert await journal.entries("c", "b") == []
    assert await journal.entries("other", "a") == [_entry("t")]
    await database.aclose()


async def test_old_notes_of_conversations_that_never_came_back_are_removed(store: str) -> None:
    database = Database(store)
    journal = Journal(database)
    await journal.write("c", "a", _entry("t"))
    await journal.forget_old(kept_seconds=3600)
    assert await journal.entries("c", "a") == [_entry("t")]
    await journal.forget_old(kept_seconds=-1)
    assert await journal.entries("c", "a") == []
    await database.aclose()
