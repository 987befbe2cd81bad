"""The agent class that takes the place of the host's A2A agent.

It keeps every documented hook; the work of a turn is in `turn`. No state of a run lives
on the object: one instance serves all conversations at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.core.types import AgentStatus
from rasa.agents.protocol.a2a.a2a_agent import A2AAgent
from rasa.agents.schemas import AgentInput, AgentOutput

from rasa_react_ext.a2a_client import AgentSpec, Connection
from rasa_react_ext.a2a_wire.card import security_mismatch
from rasa_react_ext.errors import ConnectionLostError, ExtensionError
from rasa_react_ext.host import process
from rasa_react_ext.host.external.background import BackgroundTurn
from rasa_react_ext.host.external.chore import Chores
from rasa_react_ext.host.external.mount import current_mount
from rasa_react_ext.host.external.observed import note_outcome, observed_turn
from rasa_react_ext.host.external.result import structured_results
from rasa_react_ext.host.external.spec import auth_header
from rasa_react_ext.host.external.turn import Turn, take_turn
from rasa_react_ext.host.settings import AgentSettings

if TYPE_CHECKING:
    from rasa.agents.core.cancellation import CancellationToken
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.a2a_wire import Task

__all__ = ["ExternalAgent"]

_log = structlog.get_logger()


class ExternalAgent(A2AAgent):
    """A remote agent that is reached over A2A.

    Built by the policy. A user's class that extends the host's `A2AAgent` is put in front
    of this one, so that its hooks win and `super()` reaches these.
    """

    connection: Connection
    settings: AgentSettings
    chores: Chores

    def bind(self, spec: AgentSpec, settings: AgentSettings) -> None:
        """Take what the policy found for this agent."""
        self.settings = settings
        self.connection = Connection(spec)
        self.chores = Chores(self._name)

    @property
    def name(self) -> str:
        """Name of the agent."""
        return self._name

    @property
    def pre_call_hook(self) -> str | None:
        """Import path of the documented credential hook."""
        return self._pre_call_hook

    @property
    def push_url(self) -> str | None:
        """Public base address of this server, where it is configured."""
        return self._push_notification_url

    @property
    def poll_seconds(self) -> float:
        """Longest time of asking about a task in one turn."""
        return float(self._max_polling_time)

    @property
    def first_delay_seconds(self) -> float:
        """Pause between the first two questions."""
        return float(self._polling_initial_delay)

    # Lifetime

    def warm(self) -> None:
        """Read the agent's card, in the background."""
        process.current().use(self)
        self.chores.start(self.report(), "card")

    async def report(self) -> None:
        """Say in the log whether the agent can be reached and accepts our credentials."""
        try:
            await self.connection.card(attempts=self.connection.spec.max_retries + 1)
            self.agent_card = await self.connection.check()
        except ExtensionError as error:
            down = isinstance(error, ConnectionLostError)
            log, event = (_log.warning, "unreachable") if down else (_log.error, "unusable")
            log(
                f"rasa_react_ext.external.{event}",
                agent_name=self._name,
                event_info=f"{error} The assistant runs; the agent is tried again when needed.",
            )
            return
        header = auth_header(self._auth_config)
        problem = security_mismatch(self.agent_card, header) if header != "" else ""
        if problem:
            _log.warning(
                "rasa_react_ext.external.auth_mismatch",
                agent_name=self._name,
                event_info=(
                    f"sub_agents: {self._name}: config.yml: configuration: auth: {problem}. "
                    "Calls will probably be refused; correct auth."
                ),
            )

    async def connect(self) -> None:
        """Begin to read the card; an agent that is down is reported, never raised."""
        self.warm()

    async def disconnect(self) -> None:
        """Give back what is shared; the last agent closes it. May be called twice."""
        await process.current().release(self)

    async def close_own(self) -> None:
        """Finish what outlived a turn and close the connections of the running loop."""
        await self.chores.finish()
        await self.connection.aclose()

    # A turn

    def is_async(self) -> bool:
        """Whether tasks of this agent may run in the background.

        The host asks before the agent's card can be read, so `run_async` decides.
        """
        return self.push_url is not None and current_mount() is not None

    async def run(
        self,
        agent_input: AgentInput,
        output_channel: OutputChannel | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AgentOutput:
        """Do one turn; the host's token stops it at once."""
        with observed_turn(self._name, agent_input) as watch:
            output = await take_turn(
                self, agent_input, output_channel, cancellation_token, Turn, watch
            )
            note_outcome(watch, output)
        return output

    async def run_async(
        self,
        agent_input: AgentInput,
        output_channel: OutputChannel | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AgentOutput:
        """Begin a task in the background, where the agent can report by itself.

        Otherwise the same as `run`; the host knows no cancelled outcome here.
        """
        with observed_turn(self._name, agent_input) as watch:
            output = await take_turn(
                self, agent_input, output_channel, cancellation_token, BackgroundTurn, watch
            )
            note_outcome(watch, output)
        if output.status is AgentStatus.CANCELLED:
            output.status = AgentStatus.INPUT_REQUIRED
        return output

    def get_structured_results_from_task(
        self, agent_input: AgentInput, task: Task
    ) -> list[list[dict[str, Any]]] | None:
        """Data and files of a task, as documented (documented hook)."""
        return structured_results(agent_input, task)
