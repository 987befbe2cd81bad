"""One worker process of the background load: the host's server with the callback channel.

Run as `python -m tests.faults.a2a_client_worker FOLDER MODEL PORT USERS_URL`; several listen
on one port.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

os.environ.setdefault("RASA_TELEMETRY_ENABLED", "false")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


async def main(folder: Path, model: str, port: int, users_url: str) -> None:
    """Serve until told to stop."""
    os.chdir(folder)
    from rasa.core.agent import load_agent
    from rasa.core.channels.callback import CallbackInput
    from rasa.core.config.configuration import Configuration
    from rasa.core.run import configure_app
    from rasa.utils.log_utils import configure_structlog

    from rasa_react_ext.channels import TaskUpdates

    configure_structlog(logging.WARNING)
    Configuration.initialise_endpoints(folder / "endpoints.yml")
    Configuration.initialise_sub_agents(folder / "sub_agents")
    configuration = Configuration.get_instance()
    users = CallbackInput.from_credentials({"url": users_url})
    updates = TaskUpdates.from_credentials({"quiet_seconds": 5, "upkeep_seconds": 1})
    app = configure_app(input_channels=[users, updates], enable_api=False, port=port)
    app.ctx.agent = await load_agent(
        model_path=model,
        endpoints=configuration.endpoints,
        sub_agents=configuration.available_agents,
    )
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    server = await app.create_server(sock=listener, return_asyncio_server=True, access_log=False)
    assert server is not None
    await server.startup()
    await server.before_start()
    await server.after_start()
    Path(os.environ["READY_FILE"]).touch()  # noqa: ASYNC240 - nothing else goes on yet
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await server.before_stop()


if __name__ == "__main__":
    where, archive, number, receiver = sys.argv[1:]
    asyncio.run(main(Path(where), archive, int(number), receiver))
