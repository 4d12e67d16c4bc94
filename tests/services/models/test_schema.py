"""The form of a model's answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from app.domain.json_types import Json
from app.services.models.schema import schema


@dataclass(frozen=True, slots=True)
class Found:
    """A docstring that no model is shown."""

    content: Annotated[str, Field(max_length=20, description="In one sentence.")]
    lines: Annotated[Sequence[int], Field(min_length=1, max_length=3)]
    type: Literal["fact", "event"]
    day: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", max_length=10)] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    memories: Annotated[tuple[Found, ...], Field(max_length=2)]


class AsModel(BaseModel):
    memories: Annotated[list[Found], Field(max_length=2)]


FORM = schema("found", Answer)
GOOD: dict[str, Json] = {"content": "Ann has a cat.", "lines": [1, 2], "type": "fact", "day": None}


def answer(**changed: Json) -> Json:
    return {"memories": [{**GOOD, **changed}]}


def test_an_answer_is_read_as_the_type_that_was_given() -> None:
    assert FORM.read(answer(day="2026-01-02")) == Answer(
        memories=(Found(content="Ann has a cat.", lines=[1, 2], type="fact", day="2026-01-02"),)
    )


def test_an_answer_may_be_a_pydantic_model() -> None:
    read = schema("found", AsModel).read(answer())
    assert isinstance(read, AsModel)
    assert read.memories == [Found("Ann has a cat.", [1, 2], "fact")]


def test_the_schema_has_every_object_closed_and_every_field_required() -> None:
    assert FORM.json_schema == {
        "type": "object",
        "properties": {
            "memories": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "maxLength": 20, "description": "In one sentence."},
                        "lines": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer"}},
                        "type": {"type": "string", "enum": ["fact", "event"]},
                        "day": {
                            "anyOf": [
                                {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "maxLength": 10},
                                {"type": "null"},
                            ]
                        },
                    },
                    "required": ["content", "lines", "type", "day"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["memories"],
        "additionalProperties": False,
    }


def without(key: str) -> Json:
    return {"memories": [{name: value for name, value in GOOD.items() if name != key}]}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (answer(content="x" * 21), "answer.memories[0].content: String should have at most 20"),
        (answer(lines=[]), "answer.memories[0].lines: "),
        (answer(lines=[1, 2, 3, 4]), "answer.memories[0].lines: "),
        (answer(lines=["1"]), "answer.memories[0].lines[0]: "),
        (answer(lines=[True]), "answer.memories[0].lines[0]: "),
        (answer(lines=[1.0]), "answer.memories[0].lines[0]: "),
        (answer(type="opinion"), "answer.memories[0].type: Input should be 'fact' or 'event'"),
        (answer(day="yesterday"), "answer.memories[0].day"),
        (answer(mood="good"), "answer.memories[0]: 'mood' is no key of it"),
        (without("content"), "answer.memories[0].content: it is missing"),
        (without("day"), "answer.memories[0].day: it is missing"),
        (answer(content="a\0b"), "answer.memories[0].content: it is text with NUL"),
        (answer(content="\ud83d"), "answer.memories[0].content: it is text with NUL or half"),
        ({"memories": [GOOD] * 3}, "answer.memories: "),
        ({"memories": None}, "answer.memories: "),
        ([GOOD], "answer: "),
        ("nothing", "answer: "),
        (None, "answer: "),
        ({}, "answer.memories: it is missing"),
    ],
)
def test_an_answer_of_another_form_is_refused_with_the_place_of_its_mistake(wrong: Json, told: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        FORM.read(wrong)
    assert told in str(refused.value)


def test_what_was_answered_is_not_repeated_in_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        FORM.read(answer(content="a secret that is too long", type="another secret"))
    assert "secret" not in str(refused.value)


def test_of_many_mistakes_only_a_few_are_named() -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        FORM.read(answer(**{f"key{number}": 1 for number in range(1000)}))
    assert len(str(refused.value)) < 1000


def nested(depth: int) -> Json:
    value: Json = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_an_answer_that_is_nested_deeply_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=r".+"):
        FORM.read(answer(lines=nested(depth)))


@dataclass(frozen=True, slots=True)
class Itself:
    inner: "Itself | None"


def field(kind: object) -> type:
    return dataclass(frozen=True)(type("Form", (), {"__annotations__": {"a": kind}}))


@pytest.mark.parametrize(
    "form", [field(str), field(list[int]), field(object), field(dict[str, int]), field(Itself), int, field(list[str])]
)
def test_a_form_that_bounds_nothing_cannot_be_asked_for(form: type) -> None:
    with pytest.raises(TypeError, match=r".+"):
        schema("form", form)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ä"])
def test_a_schema_has_a_name_that_services_take(name: str) -> None:
    with pytest.raises(TypeError, match="no name of a schema"):
        schema(name, Answer)
