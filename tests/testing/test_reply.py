from __future__ import annotations

import json
from typing import Any

import pytest

from rasa_react_ext.testing.reply import Decision, Player
from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import ModelScript
from tests.testing.bodies import body, called, result, system, tool, user


def _player(*rules: dict[str, Any]) -> Player:
    return Player(ModelScript.from_rules(rules, source="demo.yml"))


def _decide(player: Player, *messages: dict[str, Any], **more: Any) -> Decision:
    return player.decide(ChatRequest(body(*messages, **more)), number=3, size=400)


def _text(decision: Decision) -> str:
    return decision.reply.answer["choices"][0]["message"]["content"]


def _error(decision: Decision) -> str:
    assert decision.reply.status == 400
    assert decision.reply.answer["error"]["code"] == "no_matching_rule"
    return decision.reply.answer["error"]["message"]


def test_the_first_matching_rule_answers() -> None:
    player = _player(
        {"when": {"user": "b"}, "answer": "one"},
        {"name": "second", "when": {"user": "a"}, "answer": "two"},
        {"when": {"user": "a"}, "answer": "three"},
    )
    decision = _decide(player, user("a"))
    assert (_text(decision), decision.rule) == ("two", "second")


def test_answers_come_one_per_match_and_the_last_repeats() -> None:
    player = _player({"answers": ["one", "two"]})
    assert [_text(_decide(player, user("x"))) for _ in range(4)] == ["one", "two", "two", "two"]


def test_a_rule_with_times_is_used_up() -> None:
    player = _player({"name": "twice", "times": 2, "answer": "a"}, {"answer": "b"})
    assert [_text(_decide(player, user("x"))) for _ in range(3)] == ["a", "a", "b"]


def test_a_used_up_rule_is_named_as_such() -> None:
    player = _player({"name": "once", "times": 1, "answer": "a"})
    _decide(player, user("x"))
    assert "Nearest rule: once, but `times: 1` is used up." in _error(_decide(player, user("x")))


def test_an_unmatched_request_is_told_what_was_asked_and_the_nearest_rule() -> None:
    player = _player(
        {"when": {"user": "bond", "step": 7, "last": "user"}, "answer": "far"},
        {"name": "near", "when": {"user": "price", "tool": "news", "step": 2}, "answer": "near"},
    )
    decision = _decide(
        player,
        user("Price of ACME?"),
        called(("c1", "find")),
        result("c1", "ACM"),
        tools=[tool("find"), tool("news")],
    )
    assert decision.rule is None
    assert _error(decision) == (
        "No rule of demo.yml matches this request. Last message: tool of 'find' 'ACM'; "
        "last user message: 'Price of ACME?'; step 2; tools offered: find, news. "
        "Nearest rule: near, but `tool: news` does not hold "
        "(the tool of the last message is find)."
    )


def test_a_script_without_rules_says_so() -> None:
    assert _error(_decide(_player())).endswith("The script has no rules.")


def test_templates_see_facts_named_groups_and_numbered_groups() -> None:
    player = _player(
        {
            "when": {"user": "/buy (?P<count>\\d+) (\\w+)/", "result": "/(\\d+) EUR/"},
            "answer": {
                "text": "{{ count }} at {{ match.result[1] }}: {{ tool }} said {{ result }}",
                "calls": [
                    {
                        "name": "buy",
                        "arguments": {"lines": [{"of": "{{ match.user[2] }}"}], "sure": True},
                    },
                    {"name": "raw", "arguments": '{"n": {{ count }}, "u": {{ user | tojson }}}'},
                ],
            },
        }
    )
    history = (user("buy 3 ACME"), called(("c", "price")), result("c", "9 EUR"))
    message = _decide(player, *history).reply.answer["choices"][0]["message"]
    assert message["content"] == "3 at 9: price said 9 EUR"
    arguments = [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]
    assert arguments == [
        {"lines": [{"of": "ACME"}], "sure": True},
        {"n": 3, "u": "buy 3 ACME"},
    ]
    assert [call["id"] for call in message["tool_calls"]] == ["call_3_1", "call_3_2"]


def test_templates_see_the_results_of_all_tools_and_read_json() -> None:
    player = _player(
        {"answer": "{{ (results.price | fromjson).eur }}, {{ results.news }}, {{ result }}"}
    )
    history = (
        user("x"),
        called(("a", "price"), ("b", "news")),
        result("a", '{"eur": 9}'),
        result("b", "old"),
        called(("c", "news")),
        result("c", "new"),
    )
    assert _text(_decide(player, *history)) == "9, new, new"


@pytest.mark.parametrize(
    "text", ["{{ nothing }}", "{{ ''.__class__.mro() }}", "{{ user | fromjson }}", "{{ 1 / 0 }}"]
)
def test_a_template_that_cannot_be_filled_is_an_unmatched_request(text: str) -> None:
    decision = _decide(_player({"name": "bad", "answer": text}), user("x"))
    assert decision.rule is None
    assert "demo.yml: bad: a template cannot be filled" in _error(decision)


def test_a_template_that_cannot_be_filled_is_named_with_the_file_of_its_rule() -> None:
    own = ModelScript.from_rules([{"answer": "{{ nothing }}"}], source="own.yml").rules
    player = Player(ModelScript.from_rules([{"times": 1, "answer": "a"}, *own], source="folder"))
    _decide(player, user("x"))
    assert _error(_decide(player, user("x"))).startswith("own.yml: rules[1]: a template cannot")


def test_an_answer_has_the_shape_of_the_api() -> None:
    player = _player(
        {
            "answer": {
                "calls": [
                    {
                        "name": "a",
                        "arguments": "{broken",
                        "id": "",
                        "extra": {"extra_content": {"k": 1}},
                    },
                    {"name": "b", "arguments": None, "id": "same"},
                ],
                "reasoning": "hm",
                "refusal": "no",
                "extra": {"provider_specific_fields": {"sig": "s"}},
                "usage": {"prompt_tokens": 7},
            }
        }
    )
    answer = _decide(player, system("s"), user("x")).reply.answer
    assert answer["id"] == "chatcmpl-3"
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "some-model"
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "",
                "type": "function",
                "function": {"name": "a", "arguments": "{broken"},
                "extra_content": {"k": 1},
            },
            {"id": "same", "type": "function", "function": {"name": "b", "arguments": None}},
        ],
        "refusal": "no",
        "reasoning_content": "hm",
        "provider_specific_fields": {"sig": "s"},
    }


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("text", "stop"),
        ({}, "stop"),
        ({"text": "cut", "finish_reason": "length"}, "length"),
        ({"calls": [{"name": "a"}]}, "tool_calls"),
        ({"calls": [{"name": "a"}], "finish_reason": "stop"}, "stop"),
        ({"stream": {"deltas": [{"tool_calls": []}]}}, "tool_calls"),
    ],
)
def test_the_finish_reason_goes_by_what_the_answer_holds(answer: Any, reason: str) -> None:
    reply = _decide(_player({"answer": answer}), user("x")).reply
    assert reply.answer["choices"][0]["finish_reason"] == reason


def test_usage_can_be_left_out() -> None:
    decision = _decide(_player({"answer": {"text": "a", "usage": False}}), user("x"))
    assert "usage" not in decision.reply.answer


def test_usage_is_estimated_from_the_sizes() -> None:
    usage = _decide(_player({"answer": "x" * 40}), user("x")).reply.answer["usage"]
    assert usage == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def test_a_raw_body_goes_out_as_it_is_also_when_a_stream_was_asked_for() -> None:
    player = _player({"answer": {"raw": {"choices": []}}})
    for stream in (False, True):
        reply = _decide(player, user("x"), stream=stream).reply
        assert (reply.chunks, reply.content_type) == ((b'{"choices":[]}',), "application/json")
