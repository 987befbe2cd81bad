"""Runs the plan: servers in processes of their own, both engines in turn."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks import script
from benchmarks.plan import CHAINS, INITIALIZE_MS, PARALLEL, SERVERS, Scenario
from benchmarks.process import Worker, first_line, last_line, started, worker
from benchmarks.report import Samples

__all__ = ["ENGINES", "Rounds", "measure"]

ENGINES = ("host", "ours")
Say = Callable[[str], None]
_Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How many samples of each engine are taken, by place of the scenario."""

    resident: int = 5
    fresh: int = 3
    imports: int = 3


def measure(scenarios: Sequence[Scenario], rounds: Rounds, folder: Path, say: Say) -> Samples:
    """Take all samples.

    Args:
        scenarios: What to measure.
        rounds: How often.
        folder: An empty folder for configuration, store and logs.
        say: Told what is going on.

    Raises:
        BenchmarkError: A process failed; its last words are in the message.
    """
    run = _Measuring(scenarios, rounds, folder, say)
    run.imports()
    if run.chosen("resident") or run.chosen("fresh"):
        with _servers(folder) as setup:
            run.resident(setup)
            run.fresh(setup)
    return run.found


class _Measuring:
    """One run of the plan and what it has found so far."""

    def __init__(
        self, scenarios: Sequence[Scenario], rounds: Rounds, folder: Path, say: Say
    ) -> None:
        self.found: dict[str, dict[str, list[_Numbers]]] = defaultdict(
            lambda: {engine: [] for engine in ENGINES}
        )
        self._scenarios = scenarios
        self._rounds = rounds
        self._folder = folder
        self._say = say

    def chosen(self, place: str) -> list[Scenario]:
        """The scenarios that are measured there."""
        return [scenario for scenario in self._scenarios if scenario.place == place]

    def imports(self) -> None:
        """A process per sample that does nothing else; the host's takes long, so only one."""
        for number in self._numbers("import", self._rounds.imports):
            for engine in ENGINES if number == 1 else ("ours",):
                log = self._folder / "import.log"
                with started("-m", "benchmarks.importing", engine, log=log) as process:
                    numbers = json.loads(last_line(process, log))
                for scenario in self.chosen("import"):
                    self.found[scenario.label][engine].append(numbers)

    def resident(self, setup: Mapping[str, Any]) -> None:
        """One process per engine, asked in turn; a first round warms up and does not count."""
        if not self.chosen("resident"):
            return
        with ExitStack() as stack:
            workers: dict[str, Worker] = {}
            for engine in ENGINES:
                self._say(f"{engine}: start a process")
                workers[engine] = stack.enter_context(worker(engine, setup, self._folder))
            self._sample(self.chosen("resident"), workers, ENGINES)
            for scenario in self.chosen("resident"):
                self.found.pop(scenario.label)
            for number in self._numbers("resident", self._rounds.resident):
                self._sample(self.chosen("resident"), workers, _in_turn(number))

    def fresh(self, setup: Mapping[str, Any]) -> None:
        """A process per sample."""
        for number in self._numbers("fresh", self._rounds.fresh):
            for engine in _in_turn(number):
                with worker(engine, setup, self._folder) as measuring:
                    self._sample(self.chosen("fresh"), {engine: measuring}, (engine,))

    def _sample(
        self,
        scenarios: Sequence[Scenario],
        workers: Mapping[str, Worker],
        engines: Sequence[str],
    ) -> None:
        for scenario in scenarios:
            for engine in engines:
                numbers = workers[engine].do(scenario.work, **scenario.values)
                self.found[scenario.label][engine].append(numbers)

    def _numbers(self, place: str, rounds: int) -> Iterator[int]:
        """The numbers of the rounds, if there is anything to do in them."""
        groups = ", ".join(sorted({scenario.group for scenario in self.chosen(place)}))
        for number in range(1, rounds + 1) if groups else ():
            self._say(f"{groups}: round {number} of {rounds}")
            yield number


def _in_turn(number: int) -> Sequence[str]:
    """Who comes first changes from round to round."""
    return ENGINES if number % 2 else ENGINES[::-1]


@contextmanager
def _servers(folder: Path) -> Generator[dict[str, Any]]:
    """The model and the MCP servers; yields what a worker needs to reach them."""
    rules = script.rules(parallel_tools=PARALLEL, steps=CHAINS, servers=SERVERS)
    written, log = folder / "model.yml", folder / "servers.log"
    written.write_text(yaml.safe_dump({"rules": rules}), encoding="utf-8")
    processes = (
        ("-m", "rasa_react_ext.testing.scripted_model", str(written)),
        ("-m", "benchmarks.server"),
        ("-m", "benchmarks.server", f"--count={SERVERS}", f"--initialize-ms={INITIALIZE_MS}"),
    )
    with ExitStack() as stack:
        model, fast, slow = (
            first_line(stack.enter_context(started(*arguments, log=log)), log)
            for arguments in processes
        )
        servers = {"tools": json.loads(fast)[0]}
        servers |= {f"slow_{n}": url for n, url in enumerate(json.loads(slow), start=1)}
        yield {"folder": str(folder), "model_url": model, "servers": servers}
