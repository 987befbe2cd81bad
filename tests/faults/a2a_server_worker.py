"""One worker process of the load test: the host's server with the A2A channel on one port.

Run as `python -m tests.faults.a2a_server_worker FOLDER MODEL PORT [CHANNEL]`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("RASA_TELEMETRY_ENABLED", "false")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


async def main(folder: Path, model: str, port: int, native: bool) -> None:
    """Serve until told to stop."""
    os.chdir(folder)
    from rasa.utils.log_utils import configure_structlog

    configure_structlog(logging.WARNING)
    from rasa.core.agent import load_agent
    from rasa.core.config.configuration import Configuration
    from rasa.core.run import configure_app

    Configuration.initialise_endpoints(folder / "endpoints.yml")
    Configuration.initialise_sub_agents(folder / "sub_agents")
    configuration = Configuration.get_instance()
    entry: dict[str, Any] = json.loads((folder / "a2a.json").read_text())
    extra: dict[str, Any] = {}
    channels: list[Any] = []
    if native:
        from rasa.core.a2a_server.config import parse_a2a_server_config

        extra["a2a_config"] = parse_a2a_server_config(entry)
    else:
        from rasa_react_ext.channels import A2AServer

        channels.append(A2AServer.from_credentials(entry))
    app = configure_app(input_channels=channels, enable_api=False, **extra)
    app.ctx.agent = await load_agent(
        model_path=model,
        endpoints=configuration.endpoints,
        sub_agents=configuration.available_agents,
    )
    server = await app.create_server(
        "127.0.0.1", port, return_asyncio_server=True, access_log=False
    )
    assert server is not None
    await server.startup()
    await server.before_start()
    await server.after_start()
    if native:
        await _bind_native(app, entry, port)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await server.before_stop()


async def _bind_native(app: Any, entry: dict[str, Any], port: int) -> None:
    from rasa.core.a2a_server.config import parse_a2a_server_config
    from rasa.core.a2a_server.startup import CalmA2AServerStartup, bind_a2a_server_to_loaded_model
    from rasa.shared.engine_version import CALM_ENGINE_VERSION

    settings = parse_a2a_server_config(entry)
    assert settings is not None
    startup = CalmA2AServerStartup(
        engine_version=CALM_ENGINE_VERSION, settings=settings.to_settings()
    )
    await bind_a2a_server_to_loaded_model(app, startup, port=port)


if __name__ == "__main__":
    where, archive, number, *kind = sys.argv[1:]
    asyncio.run(main(Path(where), archive, int(number), kind == ["native"]))
