"""Whole results of runs that are waiting for their user, as long as memory allows.

One per process. Another process, or this one after a restart, has none of them: the
model is then told to call the tool again.
"""

from __future__ import annotations

from collections import OrderedDict

from rasa_react_ext.engine.source import ResultStore

__all__ = ["ResultStores"]

MAX_CHARS = 50_000_000
PAGE_CHARS = 8_000


class ResultStores:
    """The stores of runs, by the run's id; the ones used longest ago go first.

    Args:
        max_chars: Characters kept in all. The newest store may be larger alone.
    """

    def __init__(self, *, max_chars: int = MAX_CHARS) -> None:
        self._max_chars = max_chars
        self._stores: OrderedDict[str, ResultStore] = OrderedDict()

    def take(self, run: str, *, limit_chars: int) -> ResultStore:
        """The store of a run for one turn; an empty one when there is none.

        Args:
            run: Id of the run.
            limit_chars: Characters the model sees of a result, so of a page, too.
        """
        store = self._stores.pop(run, None)
        return store or ResultStore(page_chars=min(PAGE_CHARS, limit_chars))

    def give(self, run: str, store: ResultStore) -> None:
        """Keep the store of a run that goes on."""
        self._stores[run] = store
        while len(self._stores) > 1 and self.size > self._max_chars:
            self._stores.popitem(last=False)

    @property
    def size(self) -> int:
        """Characters kept now."""
        return sum(store.size for store in self._stores.values())
