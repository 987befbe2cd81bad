"""For tests without a key: scripted, recorded and replayed models in the OpenAI wire format.

Imports no host and no model SDK.
"""

from rasa_react_ext.testing.cassette import Cassette
from rasa_react_ext.testing.log import Exchange
from rasa_react_ext.testing.profile import PROFILES
from rasa_react_ext.testing.recording import RecordingModel, ReplayModel
from rasa_react_ext.testing.script import ModelScript
from rasa_react_ext.testing.served import ServedModel
from rasa_react_ext.testing.server import ModelServer, ScriptedModel

__all__ = [
    "PROFILES",
    "Cassette",
    "Exchange",
    "ModelScript",
    "ModelServer",
    "RecordingModel",
    "ReplayModel",
    "ScriptedModel",
    "ServedModel",
]
