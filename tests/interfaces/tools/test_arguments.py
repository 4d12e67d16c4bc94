"""What the input schemas admit is read, what they refuse is refused by name, so that a model is told no lies."""

from collections.abc import Mapping
from datetime import UTC, timedelta, timezone
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import ContentTooLarge, InvalidRequest
from app.domain.limits import CONTENT_BYTES, MAX_NUMBER, MAX_TOP_K_OF_TOOLS, METADATA_BYTES
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.interfaces.tools.arguments import RecallArguments, StoreArguments
from app.interfaces.tools.recall_store import RECALL_MEMORY, STORE_MEMORY
from app.interfaces.tools.recall_store import RECALL_STORE as TOOLS
from tests.support.generation import examples

ADMITS = {tool.name: jsonschema_rs.validator_for(tool.input_schema, validate_formats=True).is_valid for tool in TOOLS}
RECALL, STORE = RECALL_MEMORY.name, STORE_MEMORY.name


def read(name: str, arguments: Mapping[str, Any]) -> Query | NewMemory:
    """Read arguments as a call does."""
    return RecallArguments.read(arguments).to_query() if name == RECALL else StoreArguments.read(arguments).to_memory()


def refusal(name: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the fields that are named."""
    with pytest.raises(InvalidRequest) as caught:
        read(name, arguments)
    assert all(error.field in caught.value.detail for error in caught.value.errors)
    return [error.field for error in caught.value.errors]


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
words = st.text(characters, max_size=20)
texts = st.text(characters, min_size=1, max_size=50).filter(lambda text: bool(text.strip()))
numbers = st.integers(-MAX_NUMBER, MAX_NUMBER) | st.floats(-1e18, 1e18)
scalars = words | numbers | st.booleans() | st.none()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(timezones=offsets | st.just(UTC)).map(lambda moment: moment.isoformat())
filters = st.fixed_dictionaries(
    {},
    optional={
        "created_after": moments | moments.map(lambda moment: moment.replace("+00:00", "z").replace("T", "t")),
        "created_before": moments,
        "metadata": st.dictionaries(words, scalars, max_size=3),
    },
)
top_ks = st.integers(1, MAX_TOP_K_OF_TOOLS)
recalls = st.fixed_dictionaries({"query": texts}, optional={"top_k": top_ks | top_ks.map(float), "filter": filters})
stores = st.fixed_dictionaries({"content": texts}, optional={"metadata": st.dictionaries(words, values, max_size=3)})


@settings(deadline=None)
@given(arguments=recalls)
def test_what_the_schema_of_recall_admits_is_read_as_it_was_written(arguments: dict[str, Any]) -> None:
    assert ADMITS[RECALL](arguments)
    query = read(RECALL, arguments)
    assert isinstance(query, Query)
    conditions = arguments.get("filter", {})
    assert (query.text, query.top_k) == (arguments["query"], arguments.get("top_k", 5))
    assert query.where.metadata == conditions.get("metadata", {})
    assert (query.where.created_after is None) == ("created_after" not in conditions)
    assert (query.where.created_before is None) == ("created_before" not in conditions)


@settings(deadline=None)
@given(arguments=stores)
def test_what_the_schema_of_store_admits_is_read_as_it_was_written(arguments: dict[str, Any]) -> None:
    assert ADMITS[STORE](arguments)
    memory = read(STORE, arguments)
    assert isinstance(memory, NewMemory)
    assert (memory.content, memory.metadata) == (arguments["content"], arguments.get("metadata", {}))


arguments_of: Mapping[str, st.SearchStrategy[dict[str, Any]]] = {RECALL: recalls, STORE: stores}
no_text = st.integers() | st.booleans() | st.lists(words, max_size=2) | st.dictionaries(words, words, max_size=2)
no_object = words | st.integers() | st.booleans() | st.lists(words, max_size=2)
no_top_k = (
    st.integers(max_value=0)
    | st.integers(MAX_TOP_K_OF_TOOLS + 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda n: not n.is_integer() or not 1 <= n <= MAX_TOP_K_OF_TOOLS
    )
    | st.booleans()
    | words
    | top_ks.map(str)
    | st.lists(top_ks, max_size=2)
)
no_moment = (
    st.integers()
    | st.booleans()
    | words
    | st.dates().map(str)
    | moments.map(lambda moment: moment[:19])
    | st.sampled_from(["2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01 00:00:00Z", "2026-W01-1T00:00:00Z"])
    | st.sampled_from(["yesterday", "1767225600", "2026-01-01T00:00:00+24:00"])
)
nested = st.lists(scalars, max_size=2) | st.dictionaries(words, scalars, max_size=2)


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    [
        (RECALL, "query", no_text),
        (RECALL, "top_k", no_top_k),
        (RECALL, "filter", no_object),
        (RECALL, "filter.created_after", no_moment),
        (RECALL, "filter.created_before", no_moment),
        (RECALL, "filter.metadata", no_object | st.dictionaries(words, nested, min_size=1, max_size=2)),
        (STORE, "content", no_text),
        (STORE, "metadata", no_object),
    ],
)
@settings(deadline=None)
@given(data=st.data())
def test_what_the_schema_refuses_is_refused_by_name(
    name: str, field: str, wrong: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    arguments = data.draw(arguments_of[name])
    *within, last = field.split(".")
    place = arguments.setdefault(within[0], {}) if within else arguments
    place[last] = data.draw(wrong)
    assert not ADMITS[name](arguments)
    assert refusal(name, arguments) == [field]


@pytest.mark.parametrize("name", [RECALL, STORE])
@pytest.mark.parametrize("key", ["agent_id", "tenant_id", "explain", "top-k", "", "filter.metadata"])
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_an_unknown_argument_is_refused_by_name_even_where_it_is_null(name: str, key: str, data: st.DataObject) -> None:
    for value in (None, data.draw(values)):
        arguments = data.draw(arguments_of[name]) | {key: value}
        assert not ADMITS[name](arguments)
        assert refusal(name, arguments) == [key]
        conditions = {"query": "tea", "filter": {key: value}}
        assert not ADMITS[RECALL](conditions)
        assert refusal(RECALL, conditions) == [f"filter.{key}"]


@pytest.mark.parametrize(("name", "field"), [(RECALL, "query"), (STORE, "content")])
def test_a_call_without_its_text_is_refused(name: str, field: str) -> None:
    assert refusal(name, {}) == [field]
    assert refusal(name, {field: None}) == [field]


@pytest.mark.parametrize(
    ("name", "arguments", "optional"),
    [(RECALL, {"query": "tea"}, ["top_k", "filter"]), (STORE, {"content": "tea"}, ["metadata"])],
)
def test_null_stands_for_an_argument_that_is_left_out(
    name: str, arguments: dict[str, Any], optional: list[str]
) -> None:
    assert read(name, arguments | dict.fromkeys(optional)) == read(name, arguments)


def test_null_stands_for_a_condition_that_is_left_out() -> None:
    conditions = dict.fromkeys(["created_after", "created_before", "metadata"])
    assert read(RECALL, {"query": "tea", "filter": conditions}) == read(RECALL, {"query": "tea"})


def test_null_in_metadata_is_a_value() -> None:
    assert read(STORE, {"content": "tea", "metadata": {"of": None}}) == NewMemory("tea", {"of": None})
    query = read(RECALL, {"query": "tea", "filter": {"metadata": {"of": None}}})
    assert isinstance(query, Query)
    assert query.where.metadata == {"of": None}


@pytest.mark.parametrize("top_k", [0, 21, -1, True, False, "5", 5.5, 1e300])
def test_another_number_of_entries_than_1_to_20_is_refused(top_k: Any) -> None:
    assert not ADMITS[RECALL]({"query": "tea", "top_k": top_k})
    assert refusal(RECALL, {"query": "tea", "top_k": top_k}) == ["top_k"]


def test_five_point_nought_is_five() -> None:
    query = read(RECALL, {"query": "tea", "top_k": 5.0})
    assert isinstance(query, Query)
    assert (query.top_k, type(query.top_k)) == (5, int)


NOT_SAID_IN_A_SCHEMA = [" ", "\t\n\x1c", "\x85", "a\0b", "\ud800", "a\udfffb"]
"""No schema of JSON can say it, or only by a pattern, which many a provider refuses or takes for the whole text."""


@pytest.mark.parametrize("text", ["", *NOT_SAID_IN_A_SCHEMA])
def test_a_text_that_is_blank_or_cannot_be_stored_is_refused(text: str) -> None:
    assert refusal(RECALL, {"query": text}) == ["query"]
    assert refusal(STORE, {"content": text}) == ["content"]


def test_the_schema_says_that_a_text_is_not_empty() -> None:
    assert not ADMITS[RECALL]({"query": ""})
    assert not ADMITS[STORE]({"content": ""})


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
@pytest.mark.parametrize("place", ["key", "value"])
def test_what_cannot_be_stored_is_refused_in_metadata_too(text: str, place: str) -> None:
    metadata = {text: "x"} if place == "key" else {"x": text}
    assert refusal(STORE, {"content": "tea", "metadata": metadata}) == ["metadata"]
    assert refusal(RECALL, {"query": "tea", "filter": {"metadata": metadata}}) == ["filter.metadata"]


@pytest.mark.parametrize("moment", ["2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T00:61:00Z"])
def test_a_date_that_does_not_exist_is_refused(moment: str) -> None:
    for bound in ("created_after", "created_before"):
        assert not ADMITS[RECALL]({"query": "tea", "filter": {bound: moment}})
        assert refusal(RECALL, {"query": "tea", "filter": {bound: moment}}) == [f"filter.{bound}"]


def test_the_year_nought_is_none_of_the_calendar() -> None:
    assert refusal(RECALL, {"query": "tea", "filter": {"created_after": "0000-01-01T00:00:00Z"}}) == [
        "filter.created_after"
    ]


@pytest.mark.parametrize("character", ["a", "ä", "語", "🍵"])
def test_a_content_is_read_to_the_last_byte_that_the_description_allows(character: str) -> None:
    most = CONTENT_BYTES // len(character.encode())
    assert str(CONTENT_BYTES) in STORE_MEMORY.input_schema["properties"]["content"]["description"]
    assert read(STORE, {"content": character * most}) == NewMemory(character * most)
    with pytest.raises(ContentTooLarge, match="content"):
        read(STORE, {"content": character * most + character})


def test_metadata_is_read_to_the_last_byte_that_the_description_allows() -> None:
    around = len('{"k":""}')
    assert str(METADATA_BYTES) in STORE_MEMORY.input_schema["properties"]["metadata"]["description"]
    fits = {"k": "x" * (METADATA_BYTES - around)}
    assert read(STORE, {"content": "tea", "metadata": fits}) == NewMemory("tea", fits)
    assert refusal(STORE, {"content": "tea", "metadata": {"k": fits["k"] + "x"}}) == ["metadata"]
