"""Recorded exchanges with a model: their files, what is kept out of them, how they are found.

Knows no server and no network.
"""

from rasa_react_ext.testing.cassette.entry import Entry, RecordedAnswer, RecordedRequest
from rasa_react_ext.testing.cassette.folder import Cassette
from rasa_react_ext.testing.cassette.playback import Playback
from rasa_react_ext.testing.cassette.secret import Secrets

__all__ = ["Cassette", "Entry", "Playback", "RecordedAnswer", "RecordedRequest", "Secrets"]
