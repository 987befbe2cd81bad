"""A form that a server wants filled in, asked for in a conversation, field by field.

Pure: words in, questions and values out. The protocol allows fields of plain types
only, so a message is read by the field's type and never by a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rasa_react_ext.engine.text import sound, visible
from rasa_react_ext.host.mcp.field import MisfitError, fields_of
from rasa_react_ext.host.mcp.words import NO, YES, verdict

if TYPE_CHECKING:
    from rasa_react_ext.host.mcp.settings import ElicitationWords

__all__ = ["REFUSALS", "Form", "Heard", "Speech"]

Heard = Literal["open", "accept", "decline", "cancel"]
"""What becomes of a form: still `open`, or an action of the protocol."""

REFUSALS = (
    "cancel",
    "stop",
    "abort",
    "quit",
    "never mind",
    "forget it",
    "leave it",
    "no thanks",
    "no thank you",
    "i decline",
    "decline",
    "i refuse",
    "i'd rather not",
    "i would rather not",
    "i don't want to",
    "i do not want to",
)
SKIPS = ("skip", "skip it", "skip this", "none", "nothing", "leave it empty")
MISFITS_ALLOWED = 3
_LONGEST_QUESTION = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """The words in which forms are asked for.

    Attributes:
        words: What the project has set.
        yes: Words for yes.
        no: Words for no.
    """

    words: ElicitationWords
    yes: Sequence[str] = YES
    no: Sequence[str] = NO

    def refuses(self, message: str, *, also_no: bool) -> bool:
        """Whether the user wants to give no answer."""
        refusals = [*(self.words.refuse or REFUSALS), *(self.no if also_no else ())]
        return verdict(message, (), refusals) == "no"

    def skips(self, message: str) -> bool:
        """Whether the user leaves an optional field empty."""
        return verdict(message, self.words.skip_words or SKIPS, ()) == "yes"


@dataclass(kw_only=True)
class Form:
    """One question of a server.

    Attributes:
        message: The server's words.
        schema: JSON schema of the form; without fields it is a plain yes or no.
        speech: The words to use.
        question: What the user is to be asked now.
        content: Values so far.
    """

    message: str
    schema: Mapping[str, Any]
    speech: Speech
    question: str = ""
    content: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._fields = list(fields_of(self.schema))
        self._single = len(self._fields) == 1
        self._misfits = 0
        first = self._asks() if self._fields else self.speech.words.yes_or_no
        told = visible(sound(self.message))[:_LONGEST_QUESTION]
        if self._single and (not first or self._fields[0].listed_in(told)):
            first = "" if told else f"{self._fields[0].title}?"
        self._ask("\n".join(filter(None, (told, first))))

    def hear(self, message: str) -> Heard:
        """Take the user's message; `question` is the next one while the form is open."""
        if not self._fields:
            return self._confirmed(message)
        current = self._fields[0]
        exact = current.picks(message)
        if not exact and self.speech.refuses(message, also_no=current.kind != "boolean"):
            return "decline"
        if not exact and not current.required and self.speech.skips(message):
            return self._next()
        try:
            self.content[current.name] = current.read(message, self.speech.yes, self.speech.no)
        except MisfitError as misfit:
            return self._misfit(misfit.told(self.speech.words))
        return self._next()

    def _confirmed(self, message: str) -> Heard:
        answer = verdict(message, self.speech.yes, self.speech.no)
        if answer == "yes":
            return "accept"
        if answer == "no" or self.speech.refuses(message, also_no=True):
            return "decline"
        return self._misfit(self.speech.words.yes_or_no)

    def _misfit(self, complaint: str) -> Heard:
        self._misfits += 1
        if self._misfits >= MISFITS_ALLOWED:
            return "cancel"
        words = self.speech.words
        again = "" if self._single or not self._fields else self._asks()
        parts = (words.again, complaint, again if again != complaint else "", words.way_out)
        self._ask(" ".join(filter(None, parts)))
        return "open"

    def _next(self) -> Heard:
        self._fields.pop(0)
        self._misfits = 0
        if not self._fields:
            return "accept"
        self._ask(self._asks())
        return "open"

    def _asks(self) -> str:
        """What the user is asked about the field of the moment."""
        current, words = self._fields[0], self.speech.words
        hint = current.hint(words)
        if self._single:
            return hint
        label = f"{current.title}: {current.description}" if current.description else current.title
        ends = label if re.search(r"[.?!:]$", label) else f"{label}?"
        optional = "" if current.required else words.optional
        return " ".join(filter(None, (ends, hint, optional)))

    def _ask(self, question: str) -> None:
        # What is said is compared with this later, so both must be without odd letters.
        self.question = visible(sound(question)) or "?"
