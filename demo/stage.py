"""Everything the demo's commands set up before the first word: servers, training, loading."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from demo.backend import Model, free_port, sample_project
from demo.market import running_market
from demo.reports import House, running_house
from demo.screen import Screen
from rasa_react_ext.assistant import Conversation, LoadedAssistant, train

if TYPE_CHECKING:
    from rasa.core.channels.channel import InputChannel

__all__ = ["customer_of", "staged_assistant"]


@contextlib.asynccontextmanager
async def staged_assistant(
    screen: Screen,
    model: Model,
    house: House | None = None,
    seat: Callable[[], InputChannel] | None = None,
) -> AsyncGenerator[LoadedAssistant, None]:
    """Have the sample trained and loaded, with everything it talks to, while the block runs.

    Args:
        screen: Where the progress is shown.
        model: The model that the assistant uses.
        house: What the external agent does; by default the sample's, at a walking pace.
        seat: Makes the channel at which the customer sits, once the host is imported; by default
            one for `customer_of`.

    Raises:
        HostError: If the host refuses the project.
        OSError: If a folder cannot be written or a port cannot be opened.
        TimeoutError: If a server does not start.
    """
    async with contextlib.AsyncExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wealth-desk-")))
        with screen.step("Starting the MCP server and the external agent"):
            market_url = stack.enter_context(running_market())
            reports_card = stack.enter_context(running_house(house))
        port = free_port()
        project = stack.enter_context(
            sample_project(
                work, market_url=market_url, reports_card=reports_card, model=model, port=port
            )
        )
        with screen.step("Importing Rasa"):
            terminal = importlib.import_module("demo.terminal")
        with screen.step("Training the assistant"):
            archive = await train(project, work)
        with screen.step("Loading it and connecting its agents"):
            assistant = await stack.enter_async_context(
                terminal.at_terminal(project, archive, port, (seat or terminal.Terminal)())
            )
        yield assistant


def customer_of(assistant: LoadedAssistant) -> Conversation:
    """A conversation at the terminal."""
    terminal = importlib.import_module("demo.terminal")
    return assistant.conversation("customer", terminal.Line())
