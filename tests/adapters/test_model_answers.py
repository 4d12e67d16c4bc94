"""What is read of the responses of servers of language models."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.adapters.completions import MAX_ANSWER_BYTES
from app.adapters.model_answers import Completion, read_answer, read_completion, strict_json
from app.domain.errors import UpstreamRejected
from tests.support.cost import best


def completion(content: Any, **message: Any) -> Completion:
    choice = {"message": {"content": content, **message}, "finish_reason": "stop"}
    return read_completion(json.dumps({"choices": [choice]}).encode(), "The server")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"a":NaN}', "no numbers of JSON"),
        ('{"a":-Infinity}', "no numbers of JSON"),
        ('{"a":1,"a":1}', "a key is there twice"),
        ('{"a":{"b":1,"b":2}}', "a key is there twice"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "limit"),
        ("{'a':1}", "not JSON"),
        ('{"a":1} and more', "not JSON"),
    ],
)
def test_json_that_others_would_read_somehow_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        strict_json(text)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("text", "text"),
        (None, None),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "ab"),
        ([{"generated_text": "text"}], "text"),
        ({"a": 1}, {"a": 1}),
        ([{"a": 1}], [{"a": 1}]),
        ([], []),
    ],
)
def test_a_content_is_a_text_or_parts_of_one_or_json(content: Any, read: Any) -> None:
    assert completion(content).content == read


@pytest.mark.parametrize("body", [b'{"generated_text":"text"}', b'[{"generated_text":"text"}]'])
def test_a_generated_text_may_stand_alone(body: bytes) -> None:
    assert read_completion(body, "The server").content == "text"


@pytest.mark.parametrize(
    "body",
    [b'{"response":{"a":1}}', b'{"result":{"response":{"a":1}},"success":true}', b'{"response":"{\\"a\\":1}"}'],
)
def test_the_response_of_a_model_of_workers_ai_is_read_in_its_envelope_or_without(body: bytes) -> None:
    assert read_answer(read_completion(body, "The server").content) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1}',
        ' ```json\n{"a":1}\n``` ',
        '```\n{"a":1}```',
        '<think>x</think>{"a":1}',
        '<think>{"b":2}</think>\n```json\n{"a":1}\n```',
        'so it is\n</think>{"a":1}',
    ],
)
def test_reasoning_and_a_fence_are_left_out(text: str) -> None:
    assert read_answer(text) == {"a": 1}


@pytest.mark.parametrize(
    "answer",
    [
        lambda size: "```" + "\n" * size + "x",
        lambda size: "```json" + " " * size + "x",
        lambda size: "```" + "a" * size,
        lambda size: "<think>" + " " * size + "</think>" + "\n" * size,
        lambda size: "[" * size,
    ],
)
def test_an_answer_that_is_none_costs_in_proportion_to_its_length(answer: Callable[[int], str]) -> None:
    def read(size: int) -> None:
        with pytest.raises(ValueError, match="it is"):
            read_answer(answer(size))

    small, large = (best(partial(read, size)) for size in (MAX_ANSWER_BYTES // 16, MAX_ANSWER_BYTES))
    assert large < 40 * small + 0.01  # a cost that grows with the square would be 256 times as large


@pytest.mark.parametrize("text", ["", "  ", "<think>never ends", "<think></think>", None])
def test_an_answer_without_anything_is_empty(text: str | None) -> None:
    with pytest.raises(ValueError, match="it is empty"):
        read_answer(text)


@pytest.mark.parametrize(
    ("message", "thinks"),
    [
        ({}, False),
        ({"reasoning_content": "x"}, True),
        ({"reasoning": "x"}, True),
        ({"reasoning": ""}, False),
        ({"content": "<think>x"}, True),
        ({"content": "a <think> in it"}, False),
    ],
)
def test_a_model_is_seen_to_reason(message: dict[str, Any], *, thinks: bool) -> None:
    assert completion(**{"content": "{}", **message}).thinks is thinks


def test_what_is_no_completion_is_told_with_the_server_and_without_its_text() -> None:
    with pytest.raises(UpstreamRejected, match="The server answered something that is no chat completion") as caught:
        read_completion(b'{"secret":1}', "The server")
    assert "secret" not in caught.value.detail
