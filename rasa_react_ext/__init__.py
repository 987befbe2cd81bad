"""Sub agents for Rasa Pro conversations that a team can run in production."""

__all__ = ["__version__"]

__version__ = "0.1.0"
