"""The sample's external agent: a reporting house that works for the wealth desk, over A2A.

Owns what the house does and says; knows nothing of Rasa or of this package's engine.
"""

from demo.reports.house import Gate, House
from demo.reports.server import CARD_PATH, house_app, running_house

__all__ = ["CARD_PATH", "Gate", "House", "house_app", "running_house"]
