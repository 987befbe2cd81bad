"""Looks at a whole project without a model or a licence: what would it do, what is wrong."""

from __future__ import annotations

# Comes first: the host's modules import each other.
import rasa.core.agent  # noqa: F401 # pyright: ignore[reportUnusedImport]

from rasa_react_ext.host.inspection.finding import AgentView, Finding, Inspection
from rasa_react_ext.host.inspection.inspect import inspect_project

__all__ = ["AgentView", "Finding", "Inspection", "inspect_project"]
