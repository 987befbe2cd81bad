"""The pure rules alone: any end, in any state, leaves nothing open."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    Action,
    Ask,
    CallDone,
    Execute,
    Finish,
    Outcome,
    Review,
    Rules,
    Run,
    Say,
    SlotChanged,
)
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.text import visible
from tests.engine.fake import answer, bad, call, ok, tool
from tests.engine.play import task
from tests.engine.shape import refusals

CALLS = st.sampled_from(
    [
        call("look", {"q": "x"}, id="c1"),
        call("look", {"q": "y"}, id="c2"),
        call("book", id="c1"),
        call("book", "{", id=""),
        call("nope", id="c3"),
        call("task_completed", id="d"),
        call("task_completed", {"message": "Bye!"}, id="d"),
        call("set_slot_a", {"slot_value": "x"}, id="s"),
        call("set_slot_a", {"slot_value": ""}, id="s"),
        call("set_slot_b", {"slot_value": "y"}, id="t"),
    ]
)
ANSWERS = st.builds(
    lambda text, calls, reason: answer(text, *calls, finish_reason=reason),
    st.sampled_from(["", " ", "Hello."]),
    st.lists(CALLS, max_size=3),
    st.sampled_from(["stop"] * 8 + ["length", "content_filter"]),
)
EVENTS = st.one_of(ANSWERS, ANSWERS, ANSWERS, st.sampled_from(["failed", "late"]))
RESULTS = st.lists(st.sampled_from([ok(), ok(""), ok("other"), bad()]), min_size=3, max_size=3)
RULES = st.sampled_from(
    [
        Rules(completes="task_completed", max_steps=4),
        Rules(completes="task_completed", max_steps=2, on_limit="fail", fillers=False),
        task("a", "b", max_steps=4),
        task("a", max_steps=3, fillers=False),
    ]
)


class Game:
    """Plays events until the turn ends, or one of the ends comes first."""

    def __init__(self, given_rules: Rules) -> None:
        self.actions: list[Action] = []
        self.answers: list[ModelAnswer] = []
        self.run = rules.offered(Run(rules=given_rules), [tool("look"), tool("book")])
        self.take(rules.begin(self.run))

    def take(self, decision: tuple[Run, tuple[Action, ...]]) -> None:
        self.run, actions = decision
        assert not any(isinstance(one, Finish | Ask | Execute | Review) for one in actions[:-1])
        self.actions.extend(actions)

    def move(self, happens: Any, results: list[Any], shown: bool) -> None:
        last = self.actions[-1]
        if isinstance(last, Execute):
            self.take(rules.ran(self.run, {c.position: results[c.position] for c in last.calls}))
        elif isinstance(last, Review):
            self.take(rules.reviewed(self.run, {"b": "hook"} if results[0].is_error else {}))
        elif happens == "failed":
            self.take(rules.model_failed(self.run, "gone"))
        elif happens == "late":
            self.take(rules.out_of_time(self.run))
        else:
            if self.run.closing is None and happens.finish_reason != "content_filter":
                self.answers.append(happens)
            self.take(
                rules.answered(self.run, happens, shown=shown and bool(visible(happens.text)))
            )


@settings(max_examples=200, deadline=None)
@given(
    given_rules=RULES,
    moves=st.lists(st.tuples(EVENTS, RESULTS, st.booleans()), max_size=25),
    end=st.sampled_from([rules.cancelled, rules.overdue]),
    known=st.dictionaries(st.integers(0, 2), st.just(ok("known")), max_size=2),
)
def test_d3_2_any_end_in_any_state_leaves_nothing_open(
    given_rules: Rules, moves: list[Any], end: Any, known: Any
) -> None:
    game = Game(given_rules)
    for happens, results, shown in moves:
        if game.run.ended:
            break
        game.move(happens, results, shown)
    if not game.run.ended:
        game.take(end(game.run, known))
    run, actions = game.run, game.actions
    finish = actions[-1]
    assert isinstance(finish, Finish)
    assert sum(isinstance(one, Finish) for one in actions) == 1
    assert run.batch is None
    assert run.model_calls <= given_rules.max_steps + 2
    recorded = [one for step in run.steps for one in step.calls]
    assert len(recorded) == sum(len(one.calls) for one in game.answers)
    assert len({one.id for one in recorded}) == len(recorded)
    done = [one for one in actions if isinstance(one, CallDone)]
    assert [one.result.text for one in done] == [one.result for one in recorded]
    assert all(visible(one.speech.text) for one in actions if isinstance(one, Say))
    assert len([one for one in actions if isinstance(one, Say)]) <= run.model_calls + 1
    set_ = {one.name: one.value for one in actions if isinstance(one, SlotChanged)}
    assert set_.keys() <= run.slots_set.keys()
    assert run.slots == run.slots_set
    if finish.outcome is Outcome.COMPLETED:
        accepted = wording.TASK_ACCEPTED in [one.result for one in recorded]
        assert accepted if given_rules.completes else run.exit_met()
    messages = [{"role": "user", "content": "Hello"}]
    assert refusals(messages + [m for step in run.steps for m in step.messages()]) == {}
