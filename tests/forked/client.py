"""Runs a Python module in a process that is forked from the server's, as `python -m` would.

Started as a file, so that it loads nothing: its input, output, folder and environment are
those of the fork, whose exit code it takes over; signals are passed on.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import signal
import socket
import sys

__all__: list[str] = []

PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def _main(address: str, arguments: list[str]) -> int:
    job = {"arguments": arguments, "folder": os.getcwd(), "variables": dict(os.environ)}  # noqa: PTH109 - loads nothing
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        streams = array.array("i", [0, 1, 2])
        server.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        for number in PASSED_ON:
            signal.signal(number, lambda got, _: server.send(bytes([got])))
        server.sendall(json.dumps(job).encode() + b"\n")
        code = server.makefile("rb").readline()
    return int(code) if code else 1


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        os._exit(_main(sys.argv[1], sys.argv[2:]))
