"""The same content again, by one who may replace what is there and by one who may not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.author import Author
from app.domain.errors import InvalidRequest, QuotaExceeded
from app.domain.json_types import Json
from app.domain.memory import Memory, NewMemory
from app.domain.query import Query
from app.domain.quotas import Defaults, Limits
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.stored_again import ExistingMemory, merged_metadata
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on, with_changed
from tests.support.memories import expire, memory_rows, set_memories
from tests.support.tables import rows_of

DAY = 86_400_000
values = st.sampled_from([1, 1.0, True, "1", None, [1], {"a": 1}, {"a": None}])
objects = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


def by(bench: Bench, credential_id: str, **quotas: Limits) -> LongTermMemoryGateway:
    """Return the gateway of a credential without the right to replace."""
    backends = with_changed(bench.backends, quotas=Defaults(**quotas))
    return LongTermMemoryGateway(backends.of_tenant("acme", Author(credential_id, "http")))


async def only(bench: Bench) -> dict[str, object]:
    (row,) = await memory_rows(bench, "metadata", "expires_at", "written_by", "written_through", "later_keys")
    return {
        name: json.loads(str(value)) if name in {"metadata", "later_keys"} and value else value
        for name, value in row.items()
    }


async def test_who_may_not_replace_adds_keys_and_changes_none(bench: Bench) -> None:
    kept: list[str] = []
    memory_id = await by(bench, "first").store("bot", NewMemory("text", {"a": 1, "b": {"c": None}}))
    again = NewMemory("text", {"a": 2, "d": 4})
    assert await by(bench, "second").store("bot", again, keep=kept.extend) == memory_id
    memory = await only(bench)
    assert memory["metadata"] == {"a": 1, "b": {"c": None}, "d": 4}
    assert kept == ["metadata.a"]
    assert (memory["written_by"], memory["later_keys"]) == ("first", {"d": "second"})
    (entry,) = (await bench.gateway.recall("bot", Query("text"))).entries
    assert entry.metadata == memory["metadata"]


@pytest.mark.parametrize("metadata", [{}, {"a": 1}])
async def test_what_asks_for_nothing_new_changes_nothing(bench: Bench, metadata: dict[str, Json]) -> None:
    await by(bench, "first").store("bot", NewMemory("text", {"a": 1, "b": 2}))
    before = await only(bench)
    kept: list[str] = []
    await by(bench, "second").store("bot", NewMemory("text", metadata), keep=kept.extend)
    assert await only(bench) == before
    assert kept == []


async def test_who_may_not_replace_extends_a_life_and_shortens_none(bench: Bench) -> None:
    now = bench.backends.clock()
    await by(bench, "first").store("bot", NewMemory("text", expires_at=now + 2 * DAY))
    kept: list[str] = []
    await by(bench, "second").store("bot", NewMemory("text", expires_at=now + DAY), keep=kept.extend)
    assert ((await only(bench))["expires_at"], kept) == (now + 2 * DAY, ["expires_at"])
    kept.clear()
    await by(bench, "second").store("bot", NewMemory("text", expires_at=now + 3 * DAY), keep=kept.extend)
    assert ((await only(bench))["expires_at"], kept) == (now + 3 * DAY, [])
    await by(bench, "second").store("bot", NewMemory("text"))
    assert (await only(bench))["expires_at"] is None
    await by(bench, "second").store("bot", NewMemory("text", expires_at=now + DAY), keep=kept.extend)
    assert ((await only(bench))["expires_at"], kept) == (None, ["expires_at"])


async def test_who_may_replace_replaces_removes_and_shortens(bench: Bench) -> None:
    now = bench.backends.clock()
    await by(bench, "first").store("bot", NewMemory("text", {"a": 1, "b": 2}))
    kept: list[str] = []
    await bench.gateway.store("bot", NewMemory("text", {"a": 3}, expires_at=now + DAY), keep=kept.extend)
    memory = await only(bench)
    assert (memory["metadata"], memory["expires_at"], kept) == ({"a": 3}, now + DAY, [])
    assert (memory["written_by"], memory["later_keys"]) == ("first", {"a": "administrator"})


async def test_the_audit_names_the_credential_and_the_keys_that_changed_and_no_value(bench: Bench) -> None:
    await by(bench, "first").store("bot", NewMemory("text", {"a": "secret", "b": 2}))
    await by(bench, "second").store("bot", NewMemory("text", {"c": "secret"}))
    await bench.gateway.store("bot", NewMemory("text", {"a": "other"}))
    rows = await rows_of(bench, "audit", "written_by", "detail", by="number")
    details = [json.loads(str(row["detail"])) for row in rows]
    assert [row["written_by"] for row in rows] == ["first", "second", "administrator"]
    changes = [{name: each[name] for name in ("added", "replaced", "removed") if name in each} for each in details]
    assert changes == [{}, {"added": ["c"]}, {"replaced": ["a"], "removed": ["b", "c"]}]
    assert "secret" not in json.dumps(details)


async def test_what_has_expired_is_stored_anew_by_anyone(bench: Bench) -> None:
    await by(bench, "first").store("bot", NewMemory("text", {"a": 1}))
    await expire(bench)
    kept: list[str] = []
    await by(bench, "second").store("bot", NewMemory("text", {"b": 2}), keep=kept.extend)
    memory = await only(bench)
    assert (memory["metadata"], memory["expires_at"], memory["written_by"], kept) == ({"b": 2}, None, "second", [])


async def test_what_lives_again_meanwhile_is_not_replaced_by_one_who_saw_it_expired(bench: Bench) -> None:
    await by(bench, "first").store("bot", NewMemory("text", {"a": 1}))
    await expire(bench)
    run, runs = bench.database.run, 0

    async def revived_before_the_third(statements: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 3:  # refused, looked into, tried again
            await set_memories(bench, {"expires_at": None})
        return await run(statements)

    bench.database.run = revived_before_the_third  # type: ignore[method-assign]
    await by(bench, "second").store("bot", NewMemory("text", {"b": 2}))
    assert (await only(bench))["metadata"] == {"a": 1, "b": 2}


async def test_who_may_not_speak_for_somebody_takes_no_memory_from_them(bench: Bench) -> None:
    await by(bench, "hers").store("bot", NewMemory("Ann: I like tea"))
    bob = LongTermMemoryGateway(bench.backends.of_tenant("acme", Author("bob", "http", speakers=frozenset({"bob"}))))
    for metadata, holds in (({}, 1), ({"speaker": "Ann"}, 0)):
        await bob.store("bot", NewMemory("Ann: I like tea", metadata))
        (row,) = await memory_rows(bench, "speaker_holds")
        assert row["speaker_holds"] == holds


async def test_what_is_there_and_what_is_added_are_together_within_the_limits(bench: Bench) -> None:
    await by(bench, "first").store("bot", NewMemory("text", {"a": "x" * 9000}))
    with pytest.raises(InvalidRequest, match="metadata"):
        await by(bench, "second").store("bot", NewMemory("text", {"b": "x" * 9000}))
    with pytest.raises(QuotaExceeded):
        await by(bench, "second", agent=Limits(bytes=9020)).store("bot", NewMemory("text", {"b": "x" * 100}))
    assert (await only(bench))["metadata"] == {"a": "x" * 9000}


def memory(metadata: dict[str, Json]) -> Memory:
    return NewMemory("text", metadata).of(None, "id", 0)  # type: ignore[arg-type]


@given(before=objects, wanted=objects)
def test_who_may_not_replace_leaves_all_that_is_there_and_all_that_is_asked_for_is_there_or_kept(
    before: dict[str, Json], wanted: dict[str, Json]
) -> None:
    held = ExistingMemory(before, memory(before).metadata_json, expired=False, later_keys=None)
    result = merged_metadata(held, wanted, Author("second", "mcp"))
    assert {key: result.metadata[key] for key in before} == before
    assert result.metadata.keys() == before.keys() | wanted.keys()
    assert (result.later_keys or {}).keys() == wanted.keys() - before.keys()
    for key, value in wanted.items():
        same = json.dumps(result.metadata[key]) == json.dumps(value)
        assert same is (key not in result.unchanged)
