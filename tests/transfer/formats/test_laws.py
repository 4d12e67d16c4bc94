"""What is written in a foreign format is read from it again."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.limits import METADATA_DEPTH, NUMBER_MOST
from app.model import Json, milliseconds
from app.transfer.formats import FORMATS
from app.transfer.record import Record
from tests.transfer.formats.foreign import AGENT, read, written

FAITHFUL = ["mem0", "mcp-memory-service", "langgraph", "letta"]

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters, max_size=20)
filled = st.text(characters, min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
scalars = (
    texts | st.none() | st.booleans() | st.integers(-NUMBER_MOST, NUMBER_MOST) | st.floats(-1e18, 1e18, allow_nan=False)
)
labels = st.lists(st.sampled_from(["memories", "ada", "a b", "x.y", "", "langgraph"]), max_size=3)
json_values: st.SearchStrategy[Json] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
telling_keys = st.sampled_from(
    ["memory_gateway", "content", "text", "agent_id", "metadata", "id", "mem0.", "mem0.agent_id", "letta.text"]
    + [f"{name}.{field}" for name in FORMATS for field in ("user_id", "app_id", "tags", "memory_type", "created_at")]
    + [f"{name}.{field}" for name in FORMATS for field in ("key", "namespace", "content_hash", "updated_at", "id")]
)
envelopes = st.dictionaries(
    st.sampled_from(["id", "agent_id", "session_id", "created_at", "metadata", "other"]),
    json_values | st.just("01JZ0000000000000000000001") | st.dictionaries(telling_keys, scalars, max_size=2),
    max_size=2,
)
metadata = st.dictionaries(texts | telling_keys, json_values | labels | filled | st.just("ada") | envelopes, max_size=5)
moments = st.none() | st.integers(
    milliseconds(datetime(1, 1, 1, tzinfo=UTC)), milliseconds(datetime(9999, 12, 31, tzinfo=UTC))
)
days = st.dates().map(lambda day: milliseconds(datetime(day.year, day.month, day.day, tzinfo=UTC)))
records = st.builds(
    Record,
    agent_id=st.sampled_from([AGENT, "ada", "a.b:c", "memories", "x" * 64]),
    content=filled,
    metadata=metadata,
    id=st.none() | st.just("01JZ0000000000000000000001"),
    session_id=st.none() | texts,
    occurred_at=moments,
    created_at=moments | days,
    expires_at=moments | days,
)


@pytest.mark.parametrize("name", FAITHFUL)
@settings(deadline=None)
@given(records=st.lists(records, max_size=3))
def test_what_is_written_is_read_again(name: str, records: list[Record]) -> None:
    assert read(name, written(name, records)) == records


@pytest.mark.parametrize("name", FAITHFUL)
def test_metadata_as_deep_as_allowed_is_carried_too(name: str) -> None:
    deep: Json = "leaf"
    for _ in range(METADATA_DEPTH - 1):
        deep = {"agent_id": deep}
    record = Record("ada", "text", metadata={"agent_id": deep, "content": deep, "memory_gateway": {"metadata": {}}})
    assert read(name, written(name, [record])) == [record]


@settings(deadline=None)
@given(records=st.lists(records, max_size=3))
def test_agent_memory_is_told_the_text_and_the_session_and_nothing_else(records: list[Record]) -> None:
    session_ids = [record.session_id if (record.session_id or "").strip() else None for record in records]
    told = [
        Record(AGENT, record.content, session_id=session) for record, session in zip(records, session_ids, strict=True)
    ]
    assert read("cloudflare-agent-memory", written("cloudflare-agent-memory", records)) == told


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_carries_a_vector(name: str) -> None:
    record = Record("ada", "text", vector=np.ones(2, np.float32), embedding="test/model/2")
    bare = replace(record, vector=None, embedding=None)
    assert written(name, [record]) == written(name, [bare])


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_nothing_is_written_and_read_as_nothing(name: str) -> None:
    assert read(name, written(name, [])) == []
