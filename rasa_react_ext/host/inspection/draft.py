"""The values of one file while it is looked at: what is told is taken out of them."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rasa_react_ext.explain.setting import MEANT, UNKNOWN_KEY, explained, meant, nearest
from rasa_react_ext.host.inspection import mend
from rasa_react_ext.host.inspection.finding import Finding, Inspection

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["MISSPELT", "NEAR", "Draft", "entry_name"]

MISSPELT = 0.85
"""How near a name is to another that is only misspelt."""

NEAR = 0.75
"""How near a key must be to one that is known, where others may stand as well."""

_MOST = 5


class Draft:
    """The values of one file, from which each mistake is taken when it is told.

    Args:
        inspection: Takes the mistakes.
        source: The file.
        unset: Variables that are not set.
    """

    def __init__(self, inspection: Inspection, source: Source, unset: Sequence[str]) -> None:
        self._inspection = inspection
        self._source = source
        self._unset = unset
        self._written: dict[tuple[str, ...], str] = {}
        self._values = copy.deepcopy(source.values())
        self._changed = False

    @property
    def is_readable(self) -> bool:
        """Whether the file holds keys at all."""
        return isinstance(self._values, dict)

    def at(self, *parts: str) -> Any:
        """What is at a place."""
        return mend.at(self._values, parts)

    def done(self) -> Source:
        """The file with what is left."""
        if not self._changed:
            return self._source
        misspelt = {place[-1]: key for place, key in self._written.items()}
        return replace(self._source, mended=self._values, misspelt=misspelt)

    def keys(
        self,
        parts: Sequence[str],
        allowed: Collection[str],
        *,
        cutoff: float = 0.6,
        only: bool,
        usual: Collection[str] = (),
        deeper: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Tell of unknown keys.

        Args:
            parts: Where the keys are.
            allowed: Those that are known.
            cutoff: How near a key must be to one of them to be taken for it.
            only: Whether others than those, and than what is near to one, are mistakes.
            usual: Those that may have been meant; all of them if empty.
            deeper: Keys that belong below one of the known ones, by that one.
        """
        values = self.at(*parts)
        for key in [str(key) for key in values] if isinstance(values, dict) else []:
            right = meant(key, set(usual or allowed) - set(values), cutoff=cutoff)
            below = next((part for part, keys in (deeper or {}).items() if key in keys), None)
            if below and key not in allowed:
                self._move_below([*parts, key], [*parts, below])
                continue
            if key in allowed or not (right or only):
                continue
            others = f"The keys there are: {', '.join(sorted(allowed))}."
            place = [*parts, key]
            self.tell(place, UNKNOWN_KEY, nearest(key, [right]) if right else others)
            if right:
                mend.rename(self._values, place, right)
                self._written[(*parts, right)] = key
            else:
                mend.drop(self._values, place)

    def _move_below(self, place: Sequence[str], above: Sequence[str]) -> None:
        """Tell of a key that stands too far out, and put it where it belongs."""
        self.tell(place, UNKNOWN_KEY, f"It belongs below {above[-1]!r}: indent it there.")
        value = self.at(*place)
        mend.drop(self._values, place)
        if self.at(*above) is None:
            self.at(*above[:-1])[above[-1]] = {}
        if isinstance(self.at(*above), dict):
            self.at(*above).setdefault(place[-1], value)

    def fits(
        self, parts: Sequence[str], model: type[BaseModel], stand_ins: Mapping[str, Any]
    ) -> None:
        """Tell of values that have the wrong form.

        Args:
            parts: Where they are.
            model: The host's description of them.
            stand_ins: What takes the place of values that must be there.
        """
        for _ in range(_MOST):
            try:
                values = mend.expanded(self.at(*parts))
                model(**values)
            except ValidationError as error:
                for details in error.errors():
                    self._wrong(parts, dict(details), stand_ins)
            else:
                return

    def is_list(self, parts: Sequence[str], about: Sequence[str] = ()) -> bool:
        """Whether there are entries at a place; tells of anything else there.

        Args:
            parts: The place.
            about: Words by which the host's report of the same mistake is known.
        """
        values = self.at(*parts)
        if values is not None and not isinstance(values, list):
            self.tell(parts, *explained({"type": "list_type"}), about)
            mend.drop(self._values, parts)
        return isinstance(values, list)

    def holds_entries(self, parts: Sequence[str]) -> bool:
        """Whether a place, if it is there, is a list whose entries all hold keys; tells of others.

        Args:
            parts: The place.
        """
        if self.at(*parts) is None:
            return True
        if not self.is_list(parts):
            return False
        wrong = [n for n, entry in enumerate(self.at(*parts)) if not isinstance(entry, dict)]
        for number in reversed(wrong):
            self.tell([*parts, str(number)], *explained({"type": "dict_type"}))
            del self.at(*parts)[number]
        return not wrong

    def is_mapping(self, parts: Sequence[str]) -> bool:
        """Whether there are keys at a place; tells of anything else there."""
        values = self.at(*parts)
        if values is not None and not isinstance(values, dict):
            self.tell(parts, *explained({"type": "dict_type"}))
            mend.drop(self._values, parts)
        return isinstance(values, dict)

    def wrong_value(self, parts: Sequence[str], problem: str, fix: str, value: Any) -> None:
        """Tell of a value, and put another in its place; None takes its key out."""
        self.tell(parts, problem, fix)
        above = self.at(*parts[:-1])
        above.pop(parts[-1], None)
        if value is not None:
            above[parts[-1]] = value

    def tell(self, parts: Sequence[str], problem: str, fix: str, about: Sequence[str] = ()) -> None:
        """Keep an error."""
        written = [self._written.get((*parts[:n], part), part) for n, part in enumerate(parts)]
        self._changed = True
        self._inspection.add(
            Finding(
                file=self._source.path,
                line=self._source.line(written),
                key=": ".join(written),
                problem=problem,
                fix=fix,
            ),
            about,
        )

    def _wrong(
        self, parts: Sequence[str], details: Mapping[str, Any], stand_ins: Mapping[str, Any]
    ) -> None:
        place = self._named([*parts, *map(str, details["loc"])])
        if not mend.is_unset(self.at(*place), self._unset):  # told before
            self.tell(place, *explained(details))
        self._changed = True
        if len(place) == len(parts):  # the whole entry: only what must be there stays
            kept = {key: self.at(*parts, key) or value for key, value in stand_ins.items()}
            self.at(*parts).clear()
            self.at(*parts).update(kept)
            return
        mend.drop(self._values, place)
        instead = stand_ins.get(place[-1])
        if (right := MEANT.search(explained(details)[1])) is not None:
            instead = right[1]
        above = self.at(*place[:-1])
        if isinstance(above, dict) and instead is not None:
            above[place[-1]] = instead

    def _named(self, parts: Sequence[str]) -> list[str]:
        """The place with entries of lists by their names."""
        named = list[str]()
        for part in parts:
            above, entry = self.at(*named), self.at(*named, part)
            name = entry.get("name") if isinstance(entry, dict) else None
            named.append(name if isinstance(above, list) and isinstance(name, str) else part)
        return named


def entry_name(entry: Mapping[str, Any], index: int, key: str = "name") -> str:
    """By what an entry of a list is found."""
    name = entry.get(key)
    return name if isinstance(name, str) and name else str(index)
