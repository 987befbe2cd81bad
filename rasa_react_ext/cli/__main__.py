"""`python -m rasa_react_ext.cli`, the same as `rasa-react`."""

from rasa_react_ext.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    raise SystemExit(main())
