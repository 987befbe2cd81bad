"""An assistant in the terminal: loaded through the host's Python API, shown as it works."""

from __future__ import annotations

from rasa_react_ext.host.terminal.session import Session, loaded_session
from rasa_react_ext.host.terminal.view import View

__all__ = ["Session", "View", "loaded_session"]
