"""Everything the demo's commands set up before the first word: market, host, training, loading."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from demo.assistant import Assistant, import_host, loaded, train
from demo.backend import Model, project_environment
from demo.market import running_market
from demo.screen import Screen

__all__ = ["staged_assistant"]


@contextlib.asynccontextmanager
async def staged_assistant(
    screen: Screen, model: Model, *, verbose: bool = False
) -> AsyncGenerator[Assistant, None]:
    """Have the sample trained and loaded, with its market server, while the block runs.

    Args:
        screen: Where the progress is shown.
        model: The model that the assistant uses.
        verbose: Whether the host logs what it does, not only its errors.

    Raises:
        DemoError: If the host refuses the project.
        OSError: If a folder cannot be written or a port cannot be opened.
        TimeoutError: If the market server does not start.
    """
    async with contextlib.AsyncExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wealth-desk-")))
        with screen.step("Starting the market's MCP server"):
            market_url = stack.enter_context(running_market())
        stack.enter_context(
            project_environment(market_url=market_url, model=model, cache=work / "cache")
        )
        with screen.step("Importing Rasa"):
            log = import_host(logging.INFO if verbose else logging.ERROR)
        with screen.step("Training the assistant"):
            archive = await train(work, log)
        with screen.step("Loading it and connecting its agents"):
            assistant = await stack.enter_async_context(loaded(archive, log))
        yield assistant
