"""A process that measures one engine: one JSON command per line in, one result out.

`python -m benchmarks.worker ENGINE SETUP`, where SETUP is JSON with `folder`,
`model_url` and `servers`. What the host prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Serve commands until the input ends."""
    results = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    name, setup = sys.argv[1], json.loads(sys.argv[2])
    asyncio.run(_serve(name, setup, results))


async def _serve(name: str, setup: dict[str, Any], results: Any) -> None:
    from rasa.utils.log_utils import configure_structlog

    from benchmarks import engine
    from benchmarks.work import WORK, Bench

    configure_structlog()
    engine.configure(Path(setup["folder"]), model_url=setup["model_url"], servers=setup["servers"])
    bench = Bench(name, setup["servers"])
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        command = json.loads(line)
        numbers = await WORK[command.pop("work")](bench, **command)
        results.write(json.dumps(numbers) + "\n")


if __name__ == "__main__":
    main()
