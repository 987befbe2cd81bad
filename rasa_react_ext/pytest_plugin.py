"""The pytest plugin: fixtures for a trained assistant, its model and its servers."""

__all__: list[str] = []
