"""The whole contract of an index through both entries of the edge.

A binding of Vectorize lists no ids and destroys no index: these two calls go over REST, beside the edge, as those
commands do that make them (deploy/edge/README.md). All that they list and destroy is written and read through the edge.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import UpstreamRejected
from app.ports.index_admin import IdPage, IndexAdmin
from tests.conformance.edge import ENTRIES, Edge, Slot, edge_client
from tests.contracts.conftest import FILTERABLE, IndexSubject, cloudflare_client, index, open_index
from tests.contracts.test_vector_index import *  # noqa: F403 - the same suites, not copies of them
from tests.contracts.test_vector_index_holdings import *  # noqa: F403

__all__ = ["index", "open_index"]


class WithRest(VectorizeIndex):
    """An index behind an edge, and what no binding can do over REST."""

    def __init__(self, client: CloudflareClient, rest: CloudflareClient, slot: Slot) -> None:
        super().__init__(client, slot.config, filterable=FILTERABLE)
        self._over_rest = VectorizeIndex(rest, slot.config, filterable=FILTERABLE, name=f"vec_{slot.number}")

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        return await self._over_rest.list_ids(cursor)

    async def destroy(self) -> None:
        await self._over_rest.destroy()


@asynccontextmanager
async def edge_index(edge: Edge, entry: str, slot: Slot) -> AsyncIterator[IndexAdmin]:
    rest = cloudflare_client(edge.double)
    try:
        async with edge_client(edge.base_url(entry, slot)) as client:
            yield WithRest(client, rest, slot)
    finally:
        await rest.close()


@pytest.fixture(params=ENTRIES)
def subject(request: pytest.FixtureRequest, edge: Edge) -> IndexSubject:
    slot = edge.slot()
    opened = partial(edge_index, edge, request.param, slot)
    return IndexSubject(opened, exact=False, orders=False, forgets_cursors=True, config=slot.config)


async def test_the_index_is_checked_against_what_the_configuration_says_of_it(index: IndexAdmin) -> None:
    assert isinstance(index, VectorizeIndex)
    await index.check()


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("what", ["list_ids", "destroy"])
async def test_what_a_binding_cannot_do_is_said(edge: Edge, entry: str, what: str) -> None:
    slot = edge.slot()
    async with edge_client(edge.base_url(entry, slot)) as client:
        index = VectorizeIndex(client, slot.config, filterable=FILTERABLE)
        with pytest.raises(UpstreamRejected, match=r"deploy/edge/README\.md"):
            await getattr(index, what)()
