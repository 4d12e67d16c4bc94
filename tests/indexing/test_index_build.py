"""While an index is being made nothing is sent to it, and what it took all the same is sent again."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.cloudflare.account import Placement
from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.adapters.local.hashing import HashingEmbedder
from app.bootstrap import build_provisioning
from app.domain.errors import Conflict, UpstreamTimeout
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter
from app.indexing.jobs.dead_letters import DeadLetters
from app.indexing.jobs.reconcile import Reconcile
from app.indexing.rate_limiter import RateLimiter
from app.ports.index_admin import IndexAdmin
from app.ports.vector_index import IndexedVector
from app.runtime.checks import Checks
from app.services.memories.gateway import LongTermMemoryGateway
from app.storage.system import index_build
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running
from tests.support.backends import Backend, running_on
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import memory_rows
from tests.support.service import NOW, Service, serving, settings_for
from tests.support.tables import rows_of

SCOPE = Scope("acme", "bot")
CONFIG = HashingEmbedder().config


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def begin(bench: Bench) -> None:
    await index_build.begin(bench.database.inner, bench.embedder.config)


async def end(bench: Bench) -> None:
    await index_build.end(bench.database.inner, bench.embedder.config)


def sent(bench: Bench) -> int:
    return bench.index.journal.count("index.upsert")


async def test_neither_a_store_nor_the_indexer_sends_a_vector_to_an_index_that_is_being_made(bench: Bench) -> None:
    await begin(bench)
    await bench.gateway.store("bot", NewMemory("stored meanwhile"))
    bench.later(300)
    await bench.deliver()
    assert sent(bench) == 0
    assert await bench.queued() == {"upsert": 1}
    assert await bench.contents("stored meanwhile") == ["stored meanwhile"]  # of the outbox
    await end(bench)
    await bench.deliver()
    assert sent(bench) == 1


async def test_a_replica_hears_from_its_next_run_that_the_index_is_made(bench: Bench) -> None:
    await begin(bench)
    await bench.gateway.store("bot", NewMemory("first"))
    await end(bench)
    await bench.gateway.store("bot", NewMemory("second"))
    await bench.backends.deliveries.settle()
    assert sent(bench) == 1


async def test_what_was_acknowledged_meanwhile_is_sent_again(bench: Bench) -> None:
    """A call may be under way, in a process that has not heard of it, when the making of an index begins."""
    await bench.gateway.store("bot", NewMemory("on its way"))
    await bench.backends.deliveries.settle()
    acknowledged = bench.backends.acknowledgements.take(10)
    await begin(bench)
    await end(bench)
    bench.backends.acknowledgements.put_back(acknowledged)  # written late: of a revision that is no more
    journal = len(bench.index.journal)
    await bench.deliver()
    assert "index.upsert" in bench.index.journal[journal:]


async def test_an_erasure_has_no_receipt_while_the_index_cannot_be_searched(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("to be erased"))
    await bench.quiet()
    await begin(bench)
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert await bench.memories() == 0
    assert (await rows_of(bench, "erasure", "receipt"))[0]["receipt"] is None
    await end(bench)
    await bench.quiet()
    assert (await rows_of(bench, "erasure", "receipt"))[0]["receipt"] is not None


async def test_a_comparison_waits_for_the_index_to_be_made(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("a"))
    await begin(bench)
    with pytest.raises(Conflict, match="being made"):
        await comparison(bench).run()
    await end(bench)
    await comparison(bench).run()


async def test_operators_are_told_that_an_index_is_being_made(bench: Bench) -> None:
    await begin(bench)
    await bench.gateway.store("bot", NewMemory("a"))
    checks = Checks(bench.backends, lambda: bench.embedder.config, lambda: None, 0)
    parts = {part.name: part for part in await checks.parts()}
    assert "being made" in (parts["index"].notice or "")
    assert parts["index"].error is None


def comparison(bench: Bench, *, repair: bool = False) -> Reconcile:
    return Reconcile(
        bench.database,
        bench.index,
        bench.embedder,
        holder="test",
        rate_limiter=RateLimiter(1e9),
        repair=repair,
        report=lambda _: None,
    )


# The rest is on the double, whose metadata indexes are ready some time after they are listed, as Vectorize's are.


def account_settings(account: Handle) -> dict[str, Any]:
    options = account.double.options
    return {
        "cloudflare_account_id": options.account_id,
        "cloudflare_api_token": options.api_token,
        "cloudflare_api_base_url": account.cloudflare_url,
        "cloudflare_calls_per_window": 0,
        "indexer_seconds": 0.05,
    }


async def provision(account: Handle, data_dir: Path, database_id: str | None = None) -> str:
    settings = settings_for(data_dir, **account_settings(account), cloudflare_d1_database_id=database_id)
    provisioning, close = build_provisioning(settings, "memory-gateway", Placement(), poll_seconds=0.02)
    try:
        return await provisioning.apply(await provisioning.plan(), lambda _: None)
    finally:
        await close()


async def found(index: IndexAdmin) -> set[str]:
    """Return what a search of the scope finds."""
    vector = (await HashingEmbedder().embed(["anything"], "query")).vectors[0]
    return {hit.id for hit in (await index.query(SCOPE, vector, top_k=100, where=Filter())).hits}


async def ids_of(service: Service) -> set[str]:
    answer = await service.client.get(
        "/memories", params={"agent_id": "bot", "limit": 100}, headers=service.credential(admin=True)
    )
    return {memory["id"] for memory in answer.json()["memories"]}


@pytest.fixture
def account() -> Iterator[Handle]:
    options = DoubleOptions(
        visibility_seconds=(0.02, 0.04), metadata_index_seconds=(0.3, 0.4), rate_limit=False, approximate_scores=False
    )
    with running(options) as handle:
        yield handle


@pytest.mark.thorough
@pytest.mark.parametrize("stopped", [False, True])
async def test_a_rebuild_while_serving_hides_no_memory_from_any_search(
    account: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stopped: bool
) -> None:
    database_id = await provision(account, tmp_path)
    settings = account_settings(account) | {"cloudflare_d1_database_id": database_id}
    async with serving(tmp_path, **settings) as service, serving(tmp_path, **settings) as other:
        index = service.runtime.backends.index
        await service.store("before the loss")
        await index.destroy()
        making = [provision(account, tmp_path, database_id)]
        if stopped:
            with monkeypatch.context() as patch:
                patch.setattr("app.adapters.cloudflare.provisioning._ROUNDS", 0)
                with pytest.raises(UpstreamTimeout):
                    await making.pop()
            await service.store("after it was stopped")
            account.double.settle()
            making.append(provision(account, tmp_path, database_id))
        await _storing_while(making.pop(), service, other)
        await _sent(account, service, other)
        account.double.settle()
        assert await found(index) == await ids_of(service)


async def _storing_while(making: Coroutine[Any, Any, str], *replicas: Service) -> None:
    made = asyncio.create_task(making)
    number = 0
    while not made.done():
        for replica in replicas:
            number += 1
            await replica.store(f"meanwhile {number}")
        await asyncio.sleep(0.01)
    await made


async def _sent(account: Handle, *replicas: Service) -> None:
    """Let the indexers send what is queued, also what was stored a moment ago."""
    queue = DeadLetters(replicas[0].runtime.backends.database)
    while any(row.state == "undelivered" for row in await queue.list(only_dead=False, limit=1000)):
        account.double.clock.forward(60)
        for replica in replicas:
            await replica.runtime.indexer.round()


async def hide(account: Handle) -> None:
    """Delete the metadata indexes and make them again: they hold no vector that was written before."""
    options = account.double.options
    path = f"{account.cloudflare_url}/accounts/{options.account_id}/vectorize/v2/indexes/{CONFIG.index_name}"
    headers = {"Authorization": f"Bearer {options.api_token}"}
    async with httpx.AsyncClient(headers=headers) as client:
        for key, kind in SCOPE_TYPES.items():
            await client.post(f"{path}/metadata_index/delete", json={"propertyName": key})
            await client.post(f"{path}/metadata_index/create", json={"propertyName": key, "indexType": kind})


async def settled(bench: Bench, count: int) -> list[str]:
    ids = [await bench.gateway.store("bot", NewMemory(f"memory {number}")) for number in range(count)]
    await bench.quiet()
    return ids


@pytest.mark.thorough
async def test_a_vector_that_no_search_finds_is_reported_and_repaired(tmp_path: Path) -> None:
    with running_on("cloudflare") as backend:
        async with bench_on(tmp_path, backend) as bench:
            ids = await settled(bench, 5)
            await hide(backend.doubles[tmp_path])
            assert await found(bench.index) == set()
            findings = await comparison(bench).run()
            assert (findings.missing, findings.hidden, findings.examples["hidden"]) == (0, 5, ids[::-1])
            assert (await comparison(bench, repair=True).run()).repaired == 5
            assert await found(bench.index) == set(ids)
            await bench.quiet()
            assert (await comparison(bench).run()).hidden == 0


async def test_a_vector_with_other_values_or_metadata_is_reported_and_repaired(bench: Bench) -> None:
    ids = await settled(bench, 4)
    other, right = (await bench.embedder.inner.embed(["quite another text", "memory 1"], "document")).vectors
    revisions = {id_: held.revision for id_, held in (await bench.index.held(ids)).items()}
    wrong = [(ids[0], other, await created_at(bench, ids[0])), (ids[1], right, 1)]
    for id_, values, moment in wrong:
        await bench.index.inner.upsert([IndexedVector(SCOPE, id_, values, moment, revisions[id_] + 1)])
    assert (await comparison(bench).run()).examples.get("changed") == [ids[1]]
    findings = await comparison(bench, repair=True).run(values=True)
    assert set(findings.examples["changed"]) == {ids[0], ids[1]}
    assert findings.repaired == 2
    await bench.quiet()
    assert (await comparison(bench).run(values=True)).changed == 0


async def test_what_was_stored_at_the_same_moment_is_looked_for_one_by_one(bench: Bench) -> None:
    """A query of the index shows a hundred vectors."""
    backends = replace(bench.backends, clock=lambda: NOW)
    gateway = LongTermMemoryGateway(backends.of_tenant(SCOPE.tenant_id, ADMINISTRATOR))
    for number in range(130):
        await gateway.store("bot", NewMemory(f"memory {number} of many at one moment"))
    await bench.quiet()
    findings = await comparison(bench).run()
    assert (findings.compared, findings.hidden, findings.changed) == (130, 0, 0)


async def created_at(bench: Bench, id_: str) -> int:
    (row,) = await memory_rows(bench, "created_at", id=id_)
    return int(row["created_at"] or 0)
