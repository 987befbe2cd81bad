"""What importing one engine costs: `python -m benchmarks.importing ENGINE` prints it as JSON.

Imports nothing itself but the standard library, so that everything else is counted.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

__all__ = ["main"]

_HOST = {"a2a", "litellm", "mcp", "openai", "rasa"}
_AGENTS = (
    "rasa.agents.protocol.mcp.mcp_open_agent",
    "rasa.agents.protocol.mcp.mcp_task_agent",
)


def main() -> None:
    """Import it and print time, memory and the host's packages that came along."""
    engine = sys.argv[1]
    before, began = _memory_mb(), time.perf_counter()
    for name in _AGENTS if engine == "host" else ("rasa_react_ext.engine",):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            importlib.import_module(module.name)
    numbers = {
        "wall_ms": (time.perf_counter() - began) * 1000,
        "memory_mb": _memory_mb() - before,
        "host_packages": len(_HOST & sys.modules.keys()),
    }
    sys.stdout.write(f"\n{json.dumps(numbers)}\n")


def _memory_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
