"""An assistant in the terminal: loaded through the host's Python API, shown as it works."""

from __future__ import annotations

from rasa_react_ext.host.terminal.channel import Terminal
from rasa_react_ext.host.terminal.session import Session, conversing, loaded_session
from rasa_react_ext.host.terminal.view import View

__all__ = ["Session", "Terminal", "View", "conversing", "loaded_session"]
