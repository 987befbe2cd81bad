"""What the host's own validator says of domain and flows, placed in the files.

Training through the command line begins with these checks and ends with what they refuse.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from rasa.shared.core.domain import Domain
from rasa.shared.core.flows import FlowsList
from rasa.shared.core.flows.yaml_flows_io import YAMLFlowsReader
from rasa.shared.core.training_data.structures import StoryGraph
from rasa.shared.importers.importer import FlowSyncImporter
from rasa.shared.nlu.training_data.training_data import TrainingData
from rasa.validator import Validator

from rasa_react_ext.explain.setting import nearest
from rasa_react_ext.host.inspection.finding import Finding, Inspection

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_with_host", "validator_of"]

_DOMAIN_CHECKS = (
    "verify_domain_validity",
    "verify_actions_in_stories_rules",
    "verify_forms_in_stories_rules",
    "verify_form_slots",
    "verify_slot_mappings",
    "check_for_no_empty_parenthesis_in_responses",
    "validate_button_payloads",
    "verify_slot_validation",
    "validate_conditional_response_variation_predicates",
    "verify_nlu",
    "validate_CALM_slot_mappings",
)
_FLOW_CHECKS = (
    "verify_csat_score_slot_values",
    "verify_flows_steps_against_domain",
    "verify_unique_flows",
    "verify_predicates",
    "verify_slot_persistence_configuration",
    "verify_story_structure",
)
_ENDPOINT_CHECKS = ("verify_mcp_meta_map_slots_against_domain", "verify_mcp_pre_call_hooks")
_SECTIONS = ("responses", "slots", "actions", "forms", "intents")
_NEAR = 0.75
_QUOTED = re.compile(r"'([^']+)'")
_SENTENCE = re.compile(r"(?<=[.!]) +(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Said:
    """One line of the host's log."""

    level: str
    facts: Mapping[str, Any]

    @property
    def event(self) -> str:
        return str(self.facts.get("event"))

    @property
    def words(self) -> str:
        return " ".join(str(self.facts.get("event_info") or self.event).split())

    def fact(self, *keys: str) -> str:
        """The first of some facts that was given."""
        return next((str(self.facts[key]) for key in keys if self.facts.get(key)), "")


def check_with_host(
    inspection: Inspection,
    files: Files,
    validator: Validator,
    refused: Callable[[str, BaseException], None],
) -> None:
    """Have the host's validator look at domain, flows and servers.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
        validator: The host's validator.
        refused: Takes the file to blame and an error by which the validator refuses.
    """
    domain_file = files.domain[0].path if files.domain else "domain.yml"
    flow_file = files.flows[0].path if files.flows else "flows"
    teller = _Teller(inspection, files, validator.domain)
    groups = (
        (_DOMAIN_CHECKS, domain_file),
        (_FLOW_CHECKS, flow_file),
        (_ENDPOINT_CHECKS, files.endpoints.path),
    )
    for names, file in groups:
        for name in names:
            heard = list[_Said]()
            try:
                with _listening(heard):
                    accepted = bool(getattr(validator, name)())
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the host raises many kinds
                refused(file, error)
                continue
            teller.tell(heard, accepted, file)


def validator_of(importer: Any, files: Files, domain: str) -> Validator:
    """The host's validator for a project.

    Args:
        importer: The host's reader; None where it refuses the flows, of which the rest is
            then looked at without the host's own flows.
        files: The project's files.
        domain: Domain file or folder.
    """
    if importer is not None:
        return Validator.from_importer(importer)
    flows = [
        flow
        for source in files.flows
        for flow in YAMLFlowsReader.read_from_file(source.path).underlying_flows
    ]
    its_domain = Domain.load(domain).merge(FlowSyncImporter.load_default_pattern_flows_domain())
    return Validator(
        its_domain, TrainingData(), StoryGraph([]), FlowsList(flows), files.config.values()
    )


class _Teller:
    """Makes findings of what the validator logs.

    Args:
        inspection: Takes them.
        files: The project's files.
        domain: The domain with the host's own parts.
    """

    def __init__(self, inspection: Inspection, files: Files, domain: Domain) -> None:
        self._inspection = inspection
        self._files = files
        # For each flow the host has an action of its own, which no step names.
        names = domain.action_names_or_texts
        self._actions = [name for name in names if not name.startswith("flow_")]
        self._slots = [slot.name for slot in domain.slots]

    def tell(self, heard: Sequence[_Said], accepted: bool, file: str) -> None:
        """Keep what one check found.

        Args:
            heard: What it logged.
            accepted: Whether it was content.
            file: The file to blame where nothing is named.
        """
        errors = [said for said in heard if said.level == "error"]
        if not (accepted or errors or self._inspection.has_errors):
            errors = list(heard) or [_Said("error", {"event": "it refuses the project"})]
        lost = {said.fact("slot") for said in errors if said.event.endswith("slot_not_in_domain")}
        for said in errors:
            # A slot that is not there needs no response that asks for it.
            if said.fact("collect") not in lost and not self._inspection.told(said.words):
                self._inspection.add(self._finding(said, file))

    def _finding(self, said: _Said, file: str) -> Finding:
        word, (problem, fix) = said.fact("slot", "action"), self._explained(said)
        source, parts = self._place(said, file)
        line = source.line(parts)
        for words in (said.fact("link", "predicate", "flow_guard"), word):
            line = (source.mention(parts, words) if words else None) or line
        key = ": ".join([*parts, word] if word and word != parts[-1] else parts)
        return Finding(file=source.path, line=line, key=key, problem=problem, fix=fix)

    def _explained(self, said: _Said) -> tuple[str, str]:
        """What is wrong and what to do; in the host's words where it is nothing usual."""
        if said.event.endswith(("slot_not_in_domain", "invalid_slot")) and said.fact("slot"):
            slot, fix = said.fact("slot"), "Add it under `slots:` in the domain."
            return f"the domain has no slot {slot!r}.", nearest(slot, self._slots) or fix
        if said.event.endswith("action_not_in_domain"):
            action = said.fact("action")
            fix = "Add it under `responses:` or `actions:` in the domain."
            problem = f"the domain has no response or action {action!r}."
            return problem, nearest(action, self._actions, cutoff=_NEAR) or fix
        if said.event.endswith("collect_step") and not said.facts.get("has_action_defined"):
            return self._unasked(said.fact("collect"))
        problem, fix = (*_SENTENCE.split(said.words, maxsplit=1), "")[:2]
        return f"Rasa says: {problem}", fix

    def _unasked(self, slot: str) -> tuple[str, str]:
        wanted = f"utter_ask_{slot}"
        problem = f"nothing asks for {slot!r}: the domain has no response {wanted!r}."
        return problem, self._near(wanted) or f"Add {wanted!r} under `responses:` in the domain."

    def _near(self, name: str) -> str:
        known = [action for action in self._actions if action.startswith("utter_ask_")]
        return nearest(name, known, cutoff=_NEAR)

    def _place(self, said: _Said, file: str) -> tuple[Source, list[str]]:
        flow, step = said.fact("flow"), said.fact("step", "collect")
        if flow:
            source, parts = self._files.place(f"flow '{flow}'")
            return source, [*parts, step] if step else parts
        if (server := said.fact("mcp_server")) != "":
            return self._files.endpoints, ["mcp_servers", server]
        for word in [said.fact("slot_name", "slot"), *_QUOTED.findall(said.words)]:
            for source in self._files.domain:
                for section in _SECTIONS:
                    if word and source.has([section, word]):
                        return source, [section, word]
        return self._files.place(file)[0], []


@contextlib.contextmanager
def _listening(heard: list[_Said]) -> Generator[None]:
    """Hear what the host logs in place of showing and counting it.

    Its validator has processors of its own, so the class of the loggers is another meanwhile.
    """

    class Listener(structlog.BoundLogger):
        def _proxy_to_logger(
            self, method_name: str, event: str | None = None, *_: Any, **facts: Any
        ) -> None:
            level = "warning" if method_name == "warn" else method_name
            if level in {"warning", "error"}:
                heard.append(_Said(level, {**self._context, **facts, "event": event}))

    before = structlog.get_config()
    structlog.configure(wrapper_class=Listener)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        structlog.configure(**before)
