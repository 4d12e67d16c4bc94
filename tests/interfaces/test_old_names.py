"""What has a new name is taken by its old one too, and given by both: they mean the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import app.interfaces.http.application  # noqa: F401 - with it all requests are known
from app.interfaces.fields import Request, invalid, old_names
from app.interfaces.http.schemas.archive import ArchiveQuery
from app.interfaces.tools.arguments import RecallQuestion, RememberArguments
from tests.support.generation import examples
from tests.support.problem_shape import assert_problem, named_fields
from tests.support.service import Service, serving

MOMENT = "2026-05-01T10:00:00.000Z"
moments = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
texts = st.text("aå ", min_size=1, max_size=9).filter(lambda text: bool(text.strip()))
VALUES = {"reference_time": moments, "occurred_at": moments, "content": texts, "query": texts}
BESIDE: Mapping[str, Any] = {"role": "user", "content": "I live in Oslo", "query": "Where do I live?"}


def requests(kind: type[Request] = Request) -> Iterator[type[Request]]:
    for each in kind.__subclasses__():
        yield each
        yield from requests(each)


RENAMED = [(kind, old, name) for kind in set(requests()) for old, name in old_names(kind).items()]


def body(kind: type[Request], name: str, value: Any) -> dict[str, Any]:
    required = {each for each, field in kind.model_fields.items() if field.is_required()} - {"messages"}
    return {each: BESIDE[each] for each in required} | {name: value}


def refusal(kind: type[Request], sent: Mapping[str, Any]) -> set[str]:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(sent)
    return {each.field for each in invalid([dict(each) for each in caught.value.errors()], within=0).errors}


def test_all_that_have_an_old_name_are_known() -> None:
    assert {(kind.__name__, old) for kind, old, _ in RENAMED} == {
        ("RecallProfileRequest", "reference_date"),
        ("IngestMessage", "timestamp"),
        ("AppendedMessage", "timestamp"),
        (RememberArguments.__name__, "text"),
        (RecallQuestion.__name__, "question"),
    }


@settings(max_examples=examples(100))
@given(data=st.data())
def test_a_field_means_the_same_by_its_old_name_and_both_are_refused_by_their_names(data: st.DataObject) -> None:
    kind, old, name = data.draw(st.sampled_from(RENAMED))
    value = data.draw(VALUES[name])
    new_way = body(kind, name, value)
    old_way = {old if each == name else each: of for each, of in new_way.items()}
    assert kind.model_validate(old_way) == kind.model_validate(new_way)
    assert refusal(kind, old_way | {name: value}) == {old, name}
    assert refusal(kind, old_way | {old: 5}) == {old}
    assert refusal(kind, new_way | {name: 5}) == {name}


def test_a_listing_goes_on_by_its_old_way_or_by_a_cursor_not_by_both() -> None:
    assert refusal(ArchiveQuery, {"before": "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "cursor": "x"})


@pytest.fixture
async def service(tmp_path: Path) -> Any:
    async with serving(tmp_path) as service:
        yield service


async def test_both_names_in_one_request_are_refused_wherever_it_is_read(service: Service) -> None:
    said = {"role": "user", "content": "I live in Oslo", "occurred_at": MOMENT, "timestamp": MOMENT}
    for path, sent, named in (
        (
            "recall",
            {"query": "x", "reference_time": MOMENT, "reference_date": MOMENT},
            {"reference_time", "reference_date"},
        ),
        ("ingest", {"messages": [said]}, {"messages.0.occurred_at", "messages.0.timestamp"}),
    ):
        answer = await service.post(f"/profiles/bot/{path}", sent)
        assert named_fields(assert_problem(answer, 422, "invalid_request")) == named


async def test_an_answer_has_what_was_renamed_by_both_names(service: Service) -> None:
    said = {"role": "user", "content": "I live in Oslo.", "timestamp": MOMENT}
    taken = (await service.post("/profiles/bot/ingest", {"messages": [said]})).json()
    asked = {"query": "Where do I live?", "reference_date": MOMENT, "explain": True}
    answer = (await service.post("/profiles/bot/recall", asked)).json()
    (entry,), (candidate,) = answer["entries"], answer["candidates"]
    same = ("id", "session_id", "score", "findings")
    assert candidate == {
        **{name: entry[name] for name in same},
        "summary": entry["content"],
        "happened_at": entry["occurred_at"],
    }
    path = f"/profiles/bot/operations/{taken['operation_id']}"
    told = (await service.client.get(path, headers=service.credential())).json()
    assert (told["id"], told["ended_at"]) == (told["operation_id"], told["finished_at"])


async def test_the_document_marks_every_old_name_and_needs_none(service: Service) -> None:
    document = (await service.client.get("/openapi.json")).json()
    marked = {
        (name, field): schema
        for name, described in document["components"]["schemas"].items()
        for field, schema in described.get("properties", {}).items()
        if schema.get("deprecated")
    }
    assert {field for _, field in marked} == {
        *("reference_date", "timestamp", "candidates", "happened_at", "said_at", "finished_at", "operation_id"),
        *("milliseconds", "size", "written_through", "memory_id", "from", "text"),
    }
    for name, field in marked:
        assert field not in document["components"]["schemas"][name].get("required", [])
    (before,) = [each for each in document["paths"]["/archive"]["get"]["parameters"] if each["name"] == "before"]
    assert before["deprecated"] is True
