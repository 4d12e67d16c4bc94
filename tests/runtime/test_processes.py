"""What processes of this machine held that have died is released at once, and others go on with it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnavailable
from app.domain.memory import Scope
from app.domain.messages import NewMessage
from app.runtime.processes import release_all
from app.services.ingest.identify import identify
from app.services.ingest.messages import Taking
from app.storage.system.leases import INDEXER
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.periodic import periodically
from tests.support.tables import rows_of


class Neighbours:
    """Processes of which one has died."""

    def __init__(self, *dead: str) -> None:
        self.name = "own"
        self.names = [*dead]

    def enter(self) -> None:
        raise AssertionError

    def dead(self) -> Sequence[str]:
        return tuple(self.names)

    def forget(self, name: str) -> None:
        self.names.remove(name)

    def leave(self) -> None:
        raise AssertionError


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path) as made:
        yield made
        await made.backends.background.close()


async def test_the_lease_of_a_dead_process_is_free(bench: Bench) -> None:
    await bench.database.run([INDEXER.hold("dead"), INDEXER.hold("own")])
    neighbours = Neighbours("dead", "another")
    assert await release_all(replace(bench.backends, processes=neighbours)) == 1
    assert neighbours.names == []
    assert await rows_of(bench, "lease") == []


async def test_it_is_released_later_where_the_database_does_not_answer(bench: Bench) -> None:
    await bench.database.run([INDEXER.hold("dead")])
    neighbours = Neighbours("dead")
    backends = replace(bench.backends, processes=neighbours)
    bench.database.error = DatabaseUnavailable("The database is away.")
    with pytest.raises(DatabaseUnavailable):
        await release_all(backends)
    assert neighbours.names == ["dead"]
    bench.database.error = None
    assert await release_all(backends) == 1


async def test_what_a_dead_process_had_taken_is_made_memories(bench: Bench) -> None:
    services = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify([NewMessage("user", "I live in Rome")], "s", services.clock())
    await Taking(services, Scope("acme", "bot"), conversation).take("dead/1")
    async with periodically(replace(bench.backends, processes=Neighbours("dead")), "processes"):
        while await bench.memories() == 0:
            await asyncio.sleep(0.01)
