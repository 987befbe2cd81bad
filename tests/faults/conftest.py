"""The host tests' project and model, for tests under load."""

from __future__ import annotations

from tests.host.conftest import (
    done,
    host,
    model,
    project,
    running_model,
    running_store,
    shop,
)

__all__ = ["done", "host", "model", "project", "running_model", "running_store", "shop"]
