"""What one agent turn adds around its tools: questions, answers, bounded results.

What has to outlive the turn goes into the run's notes, beside its memory and, like
that, for the flow and step it was made in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rasa_react_ext.engine.source import Bounded, Combined, StoredResults
from rasa_react_ext.host.mcp.asking import Questions
from rasa_react_ext.host.mcp.consent import Consent
from rasa_react_ext.host.mcp.progress import Narrated
from rasa_react_ext.host.mcp.sampling import Sampled

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.engine.batch import Planned
    from rasa_react_ext.engine.memory import Memory
    from rasa_react_ext.engine.port import ChatModel, ToolSource
    from rasa_react_ext.host.mcp.settings import ToolSettings
    from rasa_react_ext.host.process import Process

__all__ = ["NOTES_KEY", "ToolTurn"]

RESULT_LIMIT_CHARS = 24_000
NOTES_KEY = "notes"


class ToolTurn:
    """The tools' side of one agent turn.

    Args:
        settings: The agent's settings.
        agent_input: The turn's input.
        stored: What the host kept of the run, as `with_notes` made it.
        place: Flow and step.
        process: What the agents of the process share.
    """

    def __init__(
        self,
        settings: ToolSettings,
        agent_input: AgentInput,
        stored: object,
        place: tuple[str, str],
        process: Process,
    ) -> None:
        self._place: Mapping[str, str] = dict(zip(("flow", "step"), place, strict=True))
        self._settings = settings
        self._results = process.results
        self._limit = settings.result_limit_chars or RESULT_LIMIT_CHARS
        notes = _notes(stored, self._place)
        self._has_cut = "results" in notes
        self._run = str(notes.get("results") or uuid4().hex)
        self._store = self._results.take(self._run, limit_chars=self._limit)
        asked = notes.get("consent")
        resumed = bool((agent_input.metadata or {}).get("resumed_after_interruption"))
        self._consent = Consent(
            settings,
            asked if isinstance(asked, Mapping) else {},
            agent_input.user_message,
            resumed=resumed,
        )
        self._questions = Questions(
            settings, process.open_calls, agent_input, notes.get("open"), resumed=resumed
        )

    @property
    def owes_answer(self) -> bool:
        """Whether the user's message settles a question about a call."""
        return self._consent.answered is not None

    def recall(self, memory: Memory) -> Memory:
        """The memory, in which a call that waited for the user says what became of it."""
        answered = self._consent.answered
        memory = memory.with_result(*answered) if answered else memory
        return self._questions.recall(memory)

    def resumed(self, memory: Memory) -> tuple[Planned, ...]:
        """Calls that an earlier turn left open; the memory is what `recall` gave."""
        return self._questions.resumed(memory)

    def around(
        self, source: ToolSource, model: Callable[[], ChatModel], metadata: Mapping[str, Any]
    ) -> ToolSource:
        """The tools as this turn offers them.

        Args:
            source: All tools of the agent.
            model: Gives the agent's model, for servers that may ask it.
            metadata: Tracing metadata for such a call.
        """
        guarded = self._consent.guard(source)
        if self._settings.sampling == "on":
            guarded = Sampled(guarded, self._settings, model, metadata)
        if template := self._settings.progress_message:
            guarded = Narrated(guarded, template, self._settings.progress_interval_seconds)
        asking = self._questions.around(guarded)
        bounded = Bounded(asking, self._store, max_chars=self._limit)
        combined = Combined([bounded, StoredResults(self._store, offered=self._has_cut)])
        return self._questions.first(combined, bounded)

    def end(self) -> None:
        """The run does not go on."""
        self._questions.end()

    def with_notes(self, memory: Mapping[str, Any] | None, said: str) -> dict[str, Any] | None:
        """What the host is to keep: the memory, if any, with the notes, if any.

        Args:
            memory: The run's memory as JSON, or None where it keeps none.
            said: The text the turn ended with.
        """
        notes: dict[str, Any] = {}
        if len(self._store):
            self._results.give(self._run, self._store)
        if len(self._store) or self._has_cut:
            notes["results"] = self._run
        if asked := self._consent.to_json(said):
            notes["consent"] = asked
        if waiting := self._questions.to_json(said):
            notes["open"] = waiting
        if not notes:
            return dict(memory) if memory is not None else None
        return {**self._place, **(memory or {}), NOTES_KEY: notes}


def _notes(stored: object, place: Mapping[str, str]) -> Mapping[str, Any]:
    """The notes of this run; nothing where they are another's or damaged."""
    if not isinstance(stored, Mapping) or any(stored.get(key) != place[key] for key in place):
        return {}
    notes = stored.get(NOTES_KEY)
    return notes if isinstance(notes, Mapping) else {}
