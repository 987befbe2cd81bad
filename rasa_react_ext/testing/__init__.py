"""For tests without a key: a scripted model server that speaks the OpenAI wire format.

Imports no host and no model SDK.
"""

from rasa_react_ext.testing.log import Exchange
from rasa_react_ext.testing.profile import PROFILES
from rasa_react_ext.testing.script import ModelScript
from rasa_react_ext.testing.server import ModelServer, ScriptedModel

__all__ = ["PROFILES", "Exchange", "ModelScript", "ModelServer", "ScriptedModel"]
