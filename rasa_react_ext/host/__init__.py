"""Everything that touches Rasa: agents, hooks, channels, models, settings."""
