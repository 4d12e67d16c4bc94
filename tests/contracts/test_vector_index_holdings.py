"""What every ``IndexAdmin`` tells of its contents across scopes: to the indexer, the eraser and reconcile."""

from dataclasses import replace

import numpy as np
import pytest

from app.domain.embedding import Vector
from app.domain.errors import CursorExpired, IndexNotProvisioned
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.index_admin import Expected, IndexAdmin, IndexRecord
from app.ports.vector_index import IndexedVector
from tests.contracts.conftest import FILTERABLE, IndexSubject, OpenedIndex
from tests.contracts.vectors import OTHERS, OWN, memory_id, random_unit, unit, vector


async def all_ids(index: IndexAdmin) -> list[list[str]]:
    """Every page of a listing."""
    pages = [await index.list_ids()]
    while pages[-1].cursor is not None:
        pages.append(await index.list_ids(pages[-1].cursor))
    return [list(page.ids) for page in pages]


async def test_what_is_held_tells_whose_it_is_its_revision_and_its_embedding(
    index: IndexAdmin, subject: IndexSubject
) -> None:
    scopes = [OWN, *OTHERS]
    await index.upsert([vector(n, unit(1), scope=scope, revision=n + 3) for n, scope in enumerate(scopes)])
    held = await index.held([memory_id(n) for n in range(len(scopes))])
    assert held == {memory_id(n): IndexRecord(scope, n + 3, subject.config.label) for n, scope in enumerate(scopes)}


async def test_an_id_that_is_not_held_is_left_out(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1)), vector(2, unit(1))])
    await index.delete(OWN, [memory_id(2)])
    assert set(await index.held([memory_id(n) for n in range(1, 4)])) == {memory_id(1)}


@pytest.mark.parametrize("count", [0, 1, 130])
async def test_any_number_of_ids_can_be_looked_at_in_one_call(index: IndexAdmin, count: int) -> None:
    await index.upsert([vector(n, random_unit(n), revision=n) for n in range(200)])
    held = await index.held([memory_id(n) for n in range(count)])
    assert {id_: each.revision for id_, each in held.items()} == {memory_id(n): n for n in range(count)}


async def test_an_id_that_is_asked_for_twice_is_held_once(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(1))])
    assert set(await index.held([memory_id(1)] * 30)) == {memory_id(1)}


@pytest.mark.parametrize("values", [unit(1), unit(0, 1)])
async def test_what_is_held_is_what_was_written_last(index: IndexAdmin, values: Vector) -> None:
    await index.upsert([vector(1, unit(1), revision=1)])
    await index.upsert([vector(1, values, revision=2)])
    assert (await index.held([memory_id(1)]))[memory_id(1)].revision == 2


async def test_what_one_connection_wrote_another_holds(open_index: OpenedIndex) -> None:
    async with open_index() as first, open_index() as second:
        await first.upsert([vector(1, unit(1))])
        assert set(await second.held([memory_id(1)])) == {memory_id(1)}
        assert await second.sample(OWN.tenant_id)
        assert (await second.list_ids()).ids == [memory_id(1)]


async def test_an_empty_index_lists_nothing(index: IndexAdmin) -> None:
    assert await all_ids(index) == [[]]


@pytest.mark.parametrize("count", [1, 1000, 2001])
async def test_a_listing_names_every_id_of_every_scope(index: IndexAdmin, count: int) -> None:
    scopes = [OWN, *OTHERS]
    vectors = [vector(n, random_unit(n), scope=scopes[n % len(scopes)]) for n in range(count)]
    await index.upsert(vectors)
    pages = await all_ids(index)
    assert all(len(page) <= 1000 for page in pages)
    assert {id_ for page in pages for id_ in page} == {memory_id(n) for n in range(count)}


async def test_a_deleted_id_is_not_listed(index: IndexAdmin) -> None:
    await index.upsert([vector(n, random_unit(n)) for n in range(5)])
    await index.delete(OWN, [memory_id(1), memory_id(3)])
    assert {id_ for page in await all_ids(index) for id_ in page} == {memory_id(n) for n in (0, 2, 4)}


async def test_what_is_removed_between_two_pages_costs_the_listing_no_other_id(index: IndexAdmin) -> None:
    await index.upsert([vector(n, random_unit(n)) for n in range(1500)])
    first = await index.list_ids()
    await index.delete(OWN, list(first.ids[:3]) + list(first.ids[-1:]))
    rest = await index.list_ids(first.cursor)
    assert {*first.ids, *rest.ids} == {memory_id(n) for n in range(1500)}


async def test_a_cursor_that_the_index_does_not_know_has_expired(index: IndexAdmin, subject: IndexSubject) -> None:
    await index.upsert([vector(n, unit(1)) for n in range(3)])
    if not subject.forgets_cursors:
        # A cursor is the id to go on after: it holds for ever.
        assert (await index.list_ids(memory_id(1))).ids == [memory_id(2)]
        return
    with pytest.raises(CursorExpired):
        await index.list_ids("nobody:1")


async def test_an_agent_is_found_alone_and_as_part_of_its_tenant(index: IndexAdmin) -> None:
    await index.upsert([vector(1, unit(-1, -1))])
    assert await index.sample("tenant", "agent")
    assert await index.sample("tenant")


@pytest.mark.parametrize(
    ("tenant_id", "agent_id"),
    [
        ("tenant", "other"),
        ("tenant", "agen"),
        ("tenant", "agent2"),
        ("other", "agent"),
        ("other", None),
        ("tenan", None),
        ("tenan", "agent"),
        ("tenant2", None),
        ("agent", None),
        ("agent", "tenant"),
    ],
)
async def test_nobody_else_is_found(index: IndexAdmin, tenant_id: str, agent_id: str | None) -> None:
    await index.upsert([vector(n, random_unit(n)) for n in range(20)])
    assert not await index.sample(tenant_id, agent_id)


async def test_nothing_is_found_in_an_empty_index(index: IndexAdmin) -> None:
    assert not await index.sample("tenant")
    assert not await index.sample("tenant", "agent")


async def test_a_tenant_is_found_until_the_last_of_its_agents_is_deleted(index: IndexAdmin) -> None:
    other = Scope("tenant", "other")
    await index.upsert([vector(1, unit(1)), vector(2, unit(1)), vector(3, unit(1), scope=other)])
    await index.delete(OWN, [memory_id(1), memory_id(2)])
    assert not await index.sample("tenant", "agent")
    assert await index.sample("tenant")
    await index.delete(other, [memory_id(3)])
    assert not await index.sample("tenant")


async def test_deleting_several_at_once_leaves_the_others_to_be_found(index: IndexAdmin) -> None:
    await index.upsert([vector(n, unit(1, n / 10)) for n in range(6)])
    assert len((await index.query(OWN, unit(1), top_k=9, where=Filter())).hits) == 6
    await index.delete(OWN, [memory_id(0), memory_id(2), memory_id(4)])
    hits = (await index.query(OWN, unit(1), top_k=9, where=Filter())).hits
    assert [hit.id for hit in hits] == [memory_id(n) for n in (1, 3, 5)]


async def test_only_an_index_that_shows_a_write_late_has_to_be_asked_whether_it_shows(index: IndexAdmin) -> None:
    assert index.confirm_seconds >= 0
    assert index.visible_at_once == (index.confirm_seconds == 0)


async def test_what_a_removal_without_grace_has_removed_does_not_come_back_by_an_upsert_that_is_late(
    index: IndexAdmin,
) -> None:
    if index.removal_grace_ms:  # then the outbox waits until no such upsert can be under way
        return
    await index.upsert([vector(1, unit(1), revision=1)])
    await index.delete(OWN, [memory_id(1), memory_id(2)])
    await index.upsert([vector(1, unit(1), revision=1), vector(2, unit(1), revision=2)])
    assert await index.held([memory_id(1), memory_id(2)]) == {}
    await index.upsert([vector(1, unit(1), revision=2**52)])
    assert set(await index.held([memory_id(1)])) == {memory_id(1)}


async def test_an_index_filters_on_every_key_or_on_the_declared_ones(index: IndexAdmin) -> None:
    assert index.filterable is None or set(index.filterable) == set(FILTERABLE)


async def test_an_index_that_is_destroyed_is_gone_for_whoever_held_it_open_and_again_is_no_error(
    open_index: OpenedIndex,
) -> None:
    async with open_index() as first, open_index() as second:
        await first.upsert([vector(1, unit(1)), vector(2, unit(1), scope=OTHERS[0])])
        await second.query(OWN, unit(1), top_k=5, where=Filter())
        await first.destroy()
        await first.destroy()
        try:
            left = await second.query(OWN, unit(1), top_k=5, where=Filter())
        except IndexNotProvisioned:  # an index of an account is not there any more
            return
        assert list(left.hits) == []
        assert await second.held([memory_id(1), memory_id(2)]) == {}


async def test_the_vectors_under_ids_are_as_they_were_written(index: IndexAdmin) -> None:
    written = {memory_id(n): random_unit(n) for n in range(45)}
    await index.upsert([vector(n, random_unit(n)) for n in range(45)])
    found = await index.vectors(OWN.tenant_id, [*written, memory_id(99)])
    assert {id_: values.tobytes() for id_, values in found.items()} == {
        id_: values.tobytes() for id_, values in written.items()
    }
    assert all(values.dtype == np.float32 for values in found.values())
    assert await index.vectors(OWN.tenant_id, []) == {}


async def test_the_vectors_of_another_tenant_are_not_given_out(index: IndexAdmin) -> None:
    scopes = [OWN, *OTHERS]
    await index.upsert([vector(n, unit(1), scope=scope) for n, scope in enumerate(scopes)])
    found = await index.vectors(OWN.tenant_id, [memory_id(n) for n in range(len(scopes))])
    assert set(found) == {memory_id(n) for n, scope in enumerate(scopes) if scope.tenant_id == OWN.tenant_id}


async def test_a_vector_agrees_with_what_was_written_and_with_nothing_else(index: IndexAdmin) -> None:
    right = Expected(OWN, memory_id(1), 1_790_000_000_000, {"key": "a", "v": 2}, unit(1))
    await index.upsert([IndexedVector(OWN, right.id, unit(1), right.created_at, 7, right.metadata)])
    wrong = (
        replace(right, scope=OTHERS[0]),
        replace(right, created_at=right.created_at + 1),
        replace(right, metadata={"key": "b", "v": 2}),
        replace(right, metadata={"key": "a"}),
        replace(right, values=unit(0, 1)),
    )
    assert await index.agrees([right]) == {memory_id(1): True}
    assert await index.agrees([replace(right, values=None)]) == {memory_id(1): True}
    for other in wrong:
        assert await index.agrees([other]) == {memory_id(1): False}, other


async def test_an_absent_vector_neither_agrees_nor_differs(index: IndexAdmin) -> None:
    await index.upsert([vector(n, unit(1)) for n in range(30)])
    expected = [Expected(OWN, memory_id(n), vector(n, unit(1)).created_at, {}) for n in range(40)]
    assert set(await index.agrees(expected)) == {memory_id(n) for n in range(30)}
