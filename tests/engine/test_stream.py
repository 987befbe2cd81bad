"""What the user sees while the model writes, and what is recorded of it (design D3.9)."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.engine.decision import Outcome, Rules
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.occurrence import Spoke
from tests.engine.fake import (
    Conversation,
    Model,
    Reply,
    Tools,
    Turn,
    after,
    answer,
    away,
    bad,
    call,
    tool,
    turn,
)


def live(*replies: Any, **more: Any) -> Turn:
    return turn(*replies, talk=Conversation(streaming=True, **more.pop("talk", {})), **more)


def spoken(played: Turn) -> list[tuple[str, str, bool, bool]]:
    return [(s.text, s.kind, s.streamed, s.interrupted) for s in played.log.of(Spoke)]


def test_a_streamed_text_is_shown_once_and_recorded_as_streamed() -> None:
    played = live(Reply(answer("Hello you"), pieces=["\n", "Hello", " you"]))
    assert played.play().text == "Hello you"
    assert played.talk.seen == ["Hello you"]
    assert spoken(played) == [("Hello you", "input_required", True, False)]


def test_a_provider_without_streaming_is_shown_whole() -> None:
    played = live(answer("Hello"))
    played.model.streams = False
    played.play()
    assert played.talk.seen == ["Hello"]
    assert spoken(played) == [("Hello", "input_required", False, False)]


def test_an_answer_without_text_opens_no_message() -> None:
    played = live(Reply(answer("", call("look")), pieces=["", " \n"]), answer("ok"))
    played.play()
    assert played.talk.seen == ["ok"]


def test_d3_9_a_streamed_filler_is_recorded_before_its_tools() -> None:
    played = live(answer("One moment.", call("look")), answer("Done?"))
    played.play()
    names = played.log.names()
    assert names.index("Spoke") < names.index("CallStarted")
    assert spoken(played)[0] == ("One moment.", "filler", True, False)


@pytest.mark.parametrize("tools", [Tools([tool("look")]), Tools()])
def test_d3_9_with_fillers_off_the_text_waits_for_the_end_of_the_answer(tools: Tools) -> None:
    built_in = ["task_completed"] if tools.listed else []
    played = live(
        answer("Hello"),
        rules=Rules(fillers=False, completes="task_completed"),
        tools=tools,
        talk={"built_in": built_in},
    )
    played.play()
    assert played.talk.seen == ["Hello"]
    assert spoken(played)[0][2] is (not tools.listed)


def test_d3_9_with_fillers_off_a_closing_text_streams() -> None:
    played = live(
        answer("Hm.", call("task_completed"), call("nope")),
        answer("", call("task_completed")),
        answer("Bye!"),
        rules=Rules(fillers=False, completes="task_completed"),
    )
    assert played.play().outcome is Outcome.COMPLETED
    assert played.talk.seen == ["Bye!"]
    assert spoken(played) == [("Bye!", "final_response", True, False)]


def test_d3_9_streamed_text_beside_a_completion_that_fails_is_asked_anew() -> None:
    played = live(
        answer("Booked, bye!", call("book"), call("task_completed")),
        answer("Sorry, it is full."),
        tools=Tools([tool("book")], {"book": after(1, bad("full"))}),
    )
    assert played.play().outcome is Outcome.INPUT_REQUIRED
    assert [(one[0], one[1]) for one in spoken(played)] == [
        ("Booked, bye!", "filler"),
        ("Sorry, it is full.", "input_required"),
    ]


def test_what_was_shown_of_an_answer_that_failed_is_recorded_before_the_next_try() -> None:
    played = live(Reply(away(), pieces=["Hel", "lo"]), answer("Hello again"))
    played.play()
    assert played.talk.seen == ["Hello~", "Hello again"]
    assert spoken(played) == [
        ("Hello", "filler", True, True),
        ("Hello again", "input_required", True, False),
    ]
    names = played.log.names()
    assert names.index("Spoke") < names.index("ModelFailed")


def test_b34_what_was_shown_of_a_filtered_answer_is_recorded() -> None:
    played = live(answer("Some of", finish_reason="content_filter"))
    assert played.play().outcome is Outcome.FAILED
    assert spoken(played) == [("Some of", "filler", True, False)]


def test_a_channel_that_takes_pieces_slowly_holds_the_model_within_its_time() -> None:
    class Slow(Model):
        async def ask(self, request: Any, sink: Any = None) -> ModelAnswer:
            if sink is not None:
                await sink("Hel")
            return await super().ask(request, None)

    played = live(Reply(answer("Hello"), after=100))
    played.driver.model = Slow(played.model.replies)
    assert played.play().outcome is Outcome.INPUT_REQUIRED
    assert played.talk.seen[0] == "Hel~"
    assert spoken(played)[0] == ("Hel", "filler", True, True)
