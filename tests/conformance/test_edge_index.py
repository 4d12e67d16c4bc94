"""The whole contract of an index through both entries of the edge, but for what a binding of Vectorize cannot do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import UpstreamRejected
from app.ports.index_admin import IndexAdmin
from tests.conformance.edge import ENTRIES, Edge, Slot, edge_client
from tests.contracts.conftest import FILTERABLE, IndexSubject, OpenedIndex, index, open_index
from tests.contracts.test_vector_index import *  # noqa: F403 - the same suites, not copies of them
from tests.contracts.test_vector_index_holdings import *  # noqa: F403
from tests.contracts.vectors import memory_id, unit, vector

__all__ = ["index", "open_index"]

NOT_BY_A_BINDING = {
    "test_what_one_connection_wrote_another_holds",
    "test_an_empty_index_lists_nothing",
    "test_a_listing_names_every_id_of_every_scope",
    "test_a_deleted_id_is_not_listed",
    "test_what_is_removed_between_two_pages_costs_the_listing_no_other_id",
    "test_a_cursor_that_the_index_does_not_know_has_expired",
    "test_an_index_that_is_destroyed_is_gone_for_whoever_held_it_open_and_again_is_no_error",
}
for name in NOT_BY_A_BINDING:
    del globals()[name]


@asynccontextmanager
async def edge_index(edge: Edge, entry: str, slot: Slot) -> AsyncIterator[IndexAdmin]:
    async with edge_client(edge.base_url(entry, slot)) as client:
        yield VectorizeIndex(client, slot.config, filterable=FILTERABLE)


@pytest.fixture(params=ENTRIES)
def subject(request: pytest.FixtureRequest, edge: Edge) -> IndexSubject:
    slot = edge.slot()
    opened = partial(edge_index, edge, request.param, slot)
    return IndexSubject(opened, exact=False, orders=False, forgets_cursors=True, config=slot.config)


async def test_what_one_connection_wrote_another_has(open_index: OpenedIndex) -> None:
    async with open_index() as first, open_index() as second:
        await first.upsert([vector(1, unit(1))])
        assert set(await second.held([memory_id(1)])) == {memory_id(1)}
        assert await second.sample("tenant")


async def test_the_index_is_checked_against_what_the_configuration_says_of_it(index: IndexAdmin) -> None:
    assert isinstance(index, VectorizeIndex)
    await index.check()


@pytest.mark.parametrize("what", ["list_ids", "destroy"])
async def test_what_a_binding_cannot_do_is_said(index: IndexAdmin, what: str) -> None:
    with pytest.raises(UpstreamRejected, match=r"deploy/edge/README\.md"):
        await getattr(index, what)()
