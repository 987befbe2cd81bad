"""The bank, with the model that understands its customers."""

from __future__ import annotations

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.a2a.bank import BANK_RULES, bank
from tests.host.project import Project


@pytest.fixture
def bank_project(project: Project, model: ModelServer) -> Project:
    """The bank; further rules for its agents may be added with `model.use`."""
    model.use(list(BANK_RULES))
    return bank(project)
