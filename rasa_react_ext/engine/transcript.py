"""The messages of one turn's model calls, built once and then only grown.

What was said is read anew only when the host says that it changed; each step of
the run adds its own messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rasa_react_ext.engine import history
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import Message
from rasa_react_ext.engine.step import Step

__all__ = ["Transcript"]


@dataclass(kw_only=True)
class Transcript:
    """What the model is told, as far as it is known.

    Attributes:
        memory: What the run did in earlier turns.
        model: The model that answered last; another model's own fields are left out.
    """

    memory: Memory
    model: str = ""
    _spoken: Sequence[Message] | None = None
    _model: str = ""
    _messages: list[Message] = field(default_factory=list)
    _steps: int = 0
    _settled: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.model = self.model or self.memory.model

    def settle(self, results: Mapping[str, str]) -> None:
        """Take new results of calls of earlier turns, by their ids."""
        if results and results is not self._settled:
            self.memory = self.memory.with_results(results)
            self._settled, self._spoken = results, None

    def renew(self, spoken: Sequence[Message]) -> bool:
        """Take in what was said; False when it is the same object for the same model.

        Args:
            spoken: System message and what was said, as the host built it.
        """
        if spoken is self._spoken and self.model == self._model:
            return False
        self._spoken, self._model, self._steps = spoken, self.model, 0
        self._messages = history.conversation(spoken, self.memory, self.model)
        return True

    def messages(self, steps: Sequence[Step]) -> list[Message]:
        """All messages; `steps` are those of this turn and only grow."""
        for step in steps[self._steps :]:
            self._messages.extend(step.seen_by(self.model).messages())
        self._steps = len(steps)
        return list(self._messages)
