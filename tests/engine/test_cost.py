"""What our own code costs per step does not grow with the run."""

from __future__ import annotations

from time import process_time

from rasa_react_ext.engine.decision import Outcome, Rules
from rasa_react_ext.engine.message import Message
from tests.engine.fake import Conversation, answer, call, turn

STEPS = 40


class Measured(Conversation):
    """Notes the time and what the engine was given at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.given: list[object] = []

    def messages(self, slots: object) -> list[Message]:
        self.times.append(process_time())
        self.given.append(slots)
        return self.spoken


def test_the_cost_of_a_step_is_flat_over_a_long_run() -> None:
    talk = Measured()
    talk.spoken = [
        talk.spoken[0],
        *({"role": role, "content": f"{n}"} for n in range(200) for role in ("user", "assistant")),
        talk.spoken[1],
    ]
    answers = [
        answer("", *(call("look", {"q": f"{step}-{n}"}, id=f"{step}-{n}") for n in range(4)))
        for step in range(STEPS)
    ]
    rules = Rules(max_steps=STEPS + 1, completes="task_completed")
    assert turn(*answers, answer("ok"), rules=rules, talk=talk).play().outcome is (
        Outcome.INPUT_REQUIRED
    )
    spent = [after - before for before, after in zip(talk.times, talk.times[1:], strict=False)]
    assert len(spent) == STEPS
    early, late = sorted(spent[1:11]), sorted(spent[-10:])
    assert late[5] < 3 * early[5] + 0.001
    assert all(slots is talk.given[0] for slots in talk.given)
