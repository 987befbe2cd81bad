"""The command line, `rasa-react`: one module per command.

To add a command: write `cli/<name>.py` with a click command called `command`, list it in
its `__all__`, and add the name to `COMMANDS` in `cli/main.py`. Import what is heavy (the
host takes ten seconds) inside the function that needs it; a command that needs the host
calls `rasa_react_ext.compatibility.check_host()` first. Raise errors of
`rasa_react_ext.errors`, let `OSError` through, and return an `ExitCode` only for what is no
failure of the command itself; `cli/failure.py` turns the rest into one message and a code.
"""
