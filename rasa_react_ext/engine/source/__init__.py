"""Tool sources around tool sources: each adds one behaviour and knows nothing of the rest."""

from __future__ import annotations

from rasa_react_ext.engine.source.combined import Combined
from rasa_react_ext.engine.source.confirmed import (
    Asks,
    Confirmations,
    Confirmed,
    Decision,
    Verdict,
)
from rasa_react_ext.engine.source.filtered import Filtered
from rasa_react_ext.engine.source.name import safe_name
from rasa_react_ext.engine.source.named import Named
from rasa_react_ext.engine.source.result_store import (
    READ_RESULT,
    Bounded,
    ResultStore,
    StoredResults,
)
from rasa_react_ext.engine.source.wrapper import Wrapper

__all__ = [
    "READ_RESULT",
    "Asks",
    "Bounded",
    "Combined",
    "Confirmations",
    "Confirmed",
    "Decision",
    "Filtered",
    "Named",
    "ResultStore",
    "StoredResults",
    "Verdict",
    "Wrapper",
    "safe_name",
]
