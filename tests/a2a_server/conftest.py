"""The databases of the store's tests, for tests of the A2A server."""

from __future__ import annotations

from tests.store.conftest import store

__all__ = ["store"]
