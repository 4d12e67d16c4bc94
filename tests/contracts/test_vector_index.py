"""What every ``IndexAdmin`` must do. Scores may be off by 0.01: an index may search approximately."""

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.embedding import Vector
from app.domain.json_types import Json, Scalar
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.index_admin import IndexAdmin
from app.ports.vector_index import Hit
from tests.contracts.conftest import IndexSubject, OpenedIndex
from tests.contracts.vectors import OTHERS, OWN, memory_id, random_unit, unit, vector
from tests.support.generation import LONG, examples

ALL = Filter()
LATER = 2**52
"""A revision of what is queued after everything else."""


async def ids(
    index: IndexAdmin, values: Vector, top_k: int = 100, where: Filter = ALL, scope: Scope = OWN
) -> list[str]:
    return [hit.id for hit in (await index.query(scope, values, top_k=top_k, where=where)).hits]


async def test_an_empty_scope_has_no_hits(index: IndexAdmin) -> None:
    assert await ids(index, unit(1)) == []


async def test_hits_come_best_first_with_their_cosine(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(-1)), vector(2, unit(1, 1)), vector(3, unit(1))])
    hits = (await index.query(OWN, unit(1), top_k=5, where=ALL)).hits
    assert [hit.id for hit in hits] == [memory_id(3), memory_id(2), memory_id(1)]
    assert [hit.score for hit in hits] == pytest.approx([1, 2**-0.5, -1], abs=0.01)
    assert all(-1 <= hit.score <= 1 for hit in hits)


async def test_no_fewer_than_top_k_hits_come_where_there_are_as_many(index: IndexAdmin) -> None:
    await index.upsert([vector(n, random_unit(n)) for n in range(30)])
    answer = await index.query(OWN, unit(1), top_k=7, where=ALL)
    assert len(answer.hits) >= 7
    assert answer.more or len(answer.hits) == 30


async def test_another_scope_is_never_seen(index: IndexAdmin) -> None:
    await index.upsert([vector(n, unit(1), scope=scope) for n, scope in enumerate(OTHERS)])
    await index.upsert([vector(9, unit(0, 1))])
    assert await ids(index, unit(1)) == [memory_id(9)]
    assert [await ids(index, unit(1), scope=scope) for scope in OTHERS] == [[memory_id(n)] for n in range(len(OTHERS))]


async def test_deleting_in_one_scope_leaves_what_another_owns(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1)), vector(2, unit(1), scope=OTHERS[0])])
    await index.delete(OWN, [memory_id(1), memory_id(2)])
    assert await ids(index, unit(1)) == []
    assert await ids(index, unit(1), scope=OTHERS[0]) == [memory_id(2)]


async def test_an_upsert_replaces_values_and_metadata_as_a_whole(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1), metadata={"a": 1, "b": 1})])
    assert await ids(index, unit(1), where=Filter(metadata={"a": 1})) == [memory_id(1)]
    await index.upsert([vector(1, unit(0, 1), metadata={"b": 2}, created_at=2000)])
    (hit,) = (await index.query(OWN, unit(0, 1), top_k=5, where=Filter(metadata={"b": 2}, created_after=1999))).hits
    assert hit.id == memory_id(1)
    assert hit.score == pytest.approx(1, abs=0.01)
    assert await ids(index, unit(1), where=Filter(metadata={"a": 1})) == []


async def test_the_same_vector_with_other_metadata_is_found_by_the_new(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1), metadata={"a": 1})])
    assert len(await ids(index, unit(1))) == 1
    await index.upsert([vector(1, unit(1), metadata={"a": 2})])
    assert await ids(index, unit(1), where=Filter(metadata={"a": 2})) == [memory_id(1)]


async def test_an_older_vector_does_not_replace_a_newer_one(index: IndexAdmin, subject: IndexSubject) -> None:
    if not subject.orders:
        # The last to arrive wins there; what of it matters to recall is read from the database.
        await index.upsert([vector(1, unit(1), revision=9)])
        await index.upsert([vector(1, unit(0, 1), revision=8)])
        assert await ids(index, unit(1)) == [memory_id(1)]
        return
    for values in (unit(1), unit(0, 1)):
        await index.upsert([vector(1, unit(1), revision=9, metadata={"v": 2})])
        await index.upsert([vector(1, values, revision=8, metadata={"v": 1})])
        (hit,) = (await index.query(OWN, unit(1), top_k=5, where=Filter(metadata={"v": 2}))).hits
        assert (hit.id, round(hit.score, 2)) == (memory_id(1), 1)


async def test_deleting_an_absent_id_is_no_error(index: IndexAdmin) -> None:
    await index.delete(OWN, [memory_id(1)])
    await index.upsert([vector(2, unit(1))])
    await index.delete(OWN, [memory_id(1)])
    assert await ids(index, unit(1)) == [memory_id(2)]


async def test_writing_nothing_is_no_error(index: IndexAdmin) -> None:
    await index.upsert([])
    await index.delete(OWN, [])


async def test_a_deleted_vector_can_be_written_again(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1)), vector(2, unit(0, 1))])
    assert len(await ids(index, unit(1))) == 2
    await index.delete(OWN, [memory_id(1)])
    await index.upsert([vector(1, unit(1, 1), revision=LATER)])
    best = (await index.query(OWN, unit(1, 1), top_k=1, where=ALL)).hits[0]
    assert best.id == memory_id(1)
    assert best.score == pytest.approx(1, abs=0.01)


async def test_bounds_of_created_at_are_exclusive(index: IndexAdmin) -> None:
    await index.upsert([vector(n, unit(1, n / 10), created_at=n) for n in range(1, 6)])
    assert await ids(index, unit(1), where=Filter(created_after=2, created_before=5)) == [memory_id(3), memory_id(4)]


async def test_the_filter_is_applied_before_top_k_is_counted(index: IndexAdmin) -> None:
    near = [vector(n, unit(1, n / 1000), metadata={"kind": "near"}) for n in range(300)]
    await index.upsert([*near, vector(999, unit(-1), metadata={"kind": "far"})])
    assert await ids(index, unit(1), top_k=1, where=Filter(metadata={"kind": "far"})) == [memory_id(999)]


@pytest.mark.parametrize(
    ("held", "wanted", "matches"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (False, None, False),
        (None, None, True),
        ("1", 1, False),
        ("a", "a", True),
        ("a", "A", False),
        ("", "", True),
        ("", None, False),
        ([1], 1, False),
        ({"a": 1}, "a", False),
        ("å", "a\u030a", False),
    ],
)
async def test_metadata_matches_the_same_json_value(
    index: IndexAdmin, held: Json, wanted: Scalar, *, matches: bool, subject: IndexSubject
) -> None:
    await index.upsert([vector(1, unit(1), metadata={"key": held}), vector(2, unit(1))])
    answer = await index.query(OWN, unit(1), top_k=100, where=Filter(metadata={"key": wanted}))
    assert answer.filtered
    held_ids = {hit.id for hit in answer.hits}
    if matches:
        assert memory_id(1) in held_ids
    if subject.exact:
        assert held_ids == ({memory_id(1)} if matches else set())


keys = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9).map(lambda f: round(f, 3)) | keys
)


def same(held: object, wanted: object) -> bool:
    numbers = (int, float)
    if isinstance(held, bool) or isinstance(wanted, bool):
        return held is wanted
    return held == wanted and (isinstance(held, numbers) == isinstance(wanted, numbers))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(60))
@given(
    held=st.lists(st.dictionaries(keys, scalars, max_size=4), max_size=8),
    wanted=st.dictionaries(keys, scalars, min_size=1, max_size=2),
    take=st.integers(0, 7),
)
async def test_any_key_can_be_filtered_on(
    index: IndexAdmin, held: list[dict[str, Scalar]], wanted: dict[str, Scalar], take: int, subject: IndexSubject
) -> None:
    if held:
        wanted = dict(list(held[take % len(held)].items())[:2]) or wanted
    await index.delete(OWN, [memory_id(n) for n in range(8)])
    await index.upsert([vector(n, unit(1), revision=LATER, metadata=metadata) for n, metadata in enumerate(held)])
    expected = {
        memory_id(n)
        for n, metadata in enumerate(held)
        if all(key in metadata and same(metadata[key], value) for key, value in wanted.items())
    }
    answer = await index.query(OWN, unit(1), top_k=100, where=Filter(metadata=wanted))
    assert answer.filtered
    found = {hit.id for hit in answer.hits}
    assert found == expected if subject.exact else found >= expected


async def test_what_one_connection_wrote_another_finds_at_once(open_index: OpenedIndex) -> None:
    async with open_index() as first, open_index() as second:
        for n in range(10):
            await first.upsert([vector(n, random_unit(n))])
            assert len(await ids(second, unit(1))) == n + 1
        await first.delete(OWN, [memory_id(n) for n in range(0, 10, 2)])
        assert set(await ids(second, unit(1))) == {memory_id(n) for n in range(1, 10, 2)}
        await first.upsert([vector(1, unit(1))])
        assert (await ids(second, unit(1), top_k=1))[0] == memory_id(1)


async def test_random_changes_through_two_connections_leave_what_a_plain_dictionary_holds(
    open_index: OpenedIndex,
) -> None:
    rng = np.random.default_rng(7)
    held: dict[str, Vector] = {}
    async with open_index() as first, open_index() as second:
        for step in range(150 if LONG else 60):
            writer, reader = (first, second) if rng.random() < 0.5 else (second, first)
            n = int(rng.integers(0, 25))
            if rng.random() < 0.3:
                await writer.delete(OWN, [memory_id(n)])
                held.pop(memory_id(n), None)
            else:
                held[memory_id(n)] = random_unit(step)
                await writer.upsert([vector(n, held[memory_id(n)], revision=LATER + step)])
            query = random_unit(1000 + step)
            assert_best((await reader.query(OWN, query, top_k=5, where=ALL)).hits[:5], held, query, 5)


def assert_best(hits: Sequence[Hit], held: Mapping[str, Vector], query: Vector, top_k: int) -> None:
    best = sorted((float(values @ query) for values in held.values()), reverse=True)[:top_k]
    assert [hit.score for hit in hits] == pytest.approx(best, abs=0.01)
    assert all(hit.score == pytest.approx(float(held[hit.id] @ query), abs=0.01) for hit in hits)


async def test_concurrent_writers_and_readers_agree_in_the_end(index: IndexAdmin) -> None:
    async def write(n: int) -> None:
        await index.upsert([vector(n, random_unit(n))])
        assert memory_id(n) in await ids(index, random_unit(n), top_k=1)

    await asyncio.gather(*(write(n) for n in range(100)))
    assert len(await ids(index, unit(1))) == 100


async def test_an_acknowledged_write_is_not_above_a_later_watermark(index: IndexAdmin) -> None:
    before = await index.watermark()
    await index.upsert([vector(1, unit(1))])
    assert await index.watermark() >= before


async def test_ping_returns_when_the_index_answers(index: IndexAdmin) -> None:
    await index.ping()


async def test_a_backend_has_a_name(index: IndexAdmin) -> None:
    assert index.backend
