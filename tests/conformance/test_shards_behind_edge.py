"""Shards behind the edge: a recall asks the database and the index of its tenant's shard, in one call."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.ports.database import Statement
from tests.conformance.edge import ENTRIES, Edge, EdgeBackend, Slot, running_edge
from tests.support.service import Service, serving
from tests.support.sharded import backdate, placed


@dataclass(frozen=True)
class ShardedSlot(Slot):
    """A slot with a database and an index of the shard ``east`` beside those of the first shard."""

    east_id: str = field(default_factory=lambda: str(uuid4()))

    @property
    def bindings(self) -> dict[str, Any]:
        index = {"binding": f"EAST_{self.number}", "metadata": dict(SCOPE_TYPES)}
        first = super().bindings
        return {
            "DATABASES": {self.east_id: f"DB_EAST_{self.number}", **first["DATABASES"]},
            "INDEXES": {**first["INDEXES"], self.of_service.index_name_in("east"): index},
        }


@pytest.fixture(scope="module")
def slots() -> list[ShardedSlot]:
    return [ShardedSlot(number) for number in range(1 + len(ENTRIES))]


@pytest.fixture(scope="module")
def edge(slots: list[ShardedSlot], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    with running_edge(tmp_path_factory.mktemp("edge"), slots) as edge:
        for slot in slots:
            edge.double.double.create_index(f"east_{slot.number}", slot.of_service.dimensions, SCOPE_TYPES)
        yield edge


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_recall_of_a_shard_s_tenant_asks_the_shard_s_own_index(
    tmp_path: Path, edge: Edge, slots: list[ShardedSlot], entry: str
) -> None:
    backend = EdgeBackend(edge, entry)
    async with serving(tmp_path, on=backend) as service:
        number = backend.slots[tmp_path].number
        await service.shards.add("east", slots[number].east_id)
    await backdate(tmp_path, **backend.settings(tmp_path))
    async with serving(tmp_path, on=backend) as service:
        for tenant, shard in (("acme", "east"), ("globex", "main")):
            await placed(service, tenant, shard)
            await service.store("The invoices go out in Swedish", tenant=tenant)
        await _confirmed(service)
        edge.called()
        for tenant in ("acme", "globex"):
            (found,) = await service.recall("invoicing swedes", tenant=tenant)
            assert found["similarity"] is not None
        assert edge.called() == ["/recall-fused"] * 2


def test_a_container_s_first_shard_is_the_database_of_its_settings_whichever_stands_first(edge: Edge) -> None:
    assert httpx.post(f"{edge.origin}/public/recall", json={}, timeout=30).is_success
    assert next(iter(edge.own.bindings["DATABASES"])) != edge.own.database_id
    assert edge.started("service")["env"]["CLOUDFLARE_D1_DATABASE_ID"] == edge.own.database_id


async def _confirmed(service: Service) -> None:
    """Have all vectors be in their indexes alone, as they are once the indexer has confirmed them."""
    for runtime in service.shards.runtimes.values():
        await runtime.backends.database.run([Statement("DELETE FROM outbox", writes=True)])
