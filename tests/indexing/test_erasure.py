"""An erasure: nothing of its scope is left, nothing else is touched, and a receipt says so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain import limits
from app.domain.errors import Erasing, InvalidRequest, NotFound, Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.query import Query
from app.indexing.jobs import erase
from app.ports.vector_index import IndexedVector
from app.storage.erasures import KINDS, Erasures
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on
from tests.support.ingestions import ingestion, message
from tests.support.tables import Not, column_of, count_of, delete_rows, insert_rows, rows_of, set_rows

DAY_MS = 24 * 3600 * 1000
AGENTS = ("bot", "other")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def fill(bench: Bench, tenant: str = "acme", *, memories: int = 3) -> None:
    gateway = bench.tenant(tenant)
    for agent in AGENTS:
        for n in range(memories):
            await gateway.store(agent, NewMemory(f"{agent} {n}"), idempotency_key=f"key-{n}")


async def held_of(bench: Bench, tenant: str, agent: str) -> int:
    """Count everything that is held of an agent, in every store."""
    tables = ("long_term_memory", "outbox", "idempotency")
    counts = [await count_of(bench, table, tenant_id=tenant, agent_id=agent) for table in tables]
    return sum(counts) + len(await bench.index.sample(tenant, agent))


async def test_an_erased_agent_leaves_nothing_and_the_receipt_counts_what_there_was(bench: Bench) -> None:
    await fill(bench)
    await fill(bench, "neighbour")
    before = [await held_of(bench, tenant, agent) for tenant, agent in (("acme", "other"), ("neighbour", "bot"))]
    accepted = await bench.gateway.erase("bot")
    assert (accepted.agent_id, accepted.receipt) == ("bot", None)
    await bench.quiet()
    done = await bench.gateway.erasure(accepted.id)
    assert done.receipt is not None
    assert done.receipt["erased"]["memories"] == 3
    assert done.receipt["erased"]["idempotency_keys"] == 3
    assert (done.receipt["found_by_id"], done.receipt["found_by_search"]) == (0, 0)
    assert await held_of(bench, "acme", "bot") == 0
    assert (await bench.gateway.recall("bot", Query("bot 1"))).entries == []
    assert len((await bench.gateway.recall("other", Query("other 1"))).entries) == 3
    assert len((await bench.tenant("neighbour").recall("bot", Query("bot 1"))).entries) == 3
    assert before[1] > 0
    assert await held_of(bench, "acme", "other") > 0


async def test_an_erased_tenant_leaves_nothing_of_any_agent(bench: Bench) -> None:
    await fill(bench)
    await fill(bench, "neighbour")
    accepted = await bench.gateway.erase(None)
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert receipt["erased"]["memories"] == 6
    assert [await held_of(bench, "acme", agent) for agent in AGENTS] == [0, 0]
    assert await bench.index.sample("acme") == []
    assert len((await bench.tenant("neighbour").recall("bot", Query("bot 1"))).entries) == 3


async def test_until_the_receipt_nothing_is_stored_in_the_scope_and_then_it_is_again(bench: Bench) -> None:
    await fill(bench)
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await bench.gateway.store("bot", NewMemory("new"), idempotency_key="new")
    await bench.gateway.store("other", NewMemory("of another agent"))
    await bench.indexer.round()
    with pytest.raises(Erasing):
        await bench.gateway.store("bot", NewMemory("new"))
    await bench.quiet()
    await bench.gateway.store("bot", NewMemory("new"), idempotency_key="new")
    assert await bench.contents("new") == ["new"]


async def test_while_a_tenant_is_erased_none_of_its_agents_stores(bench: Bench) -> None:
    await fill(bench)
    await bench.gateway.erase(None)
    with pytest.raises(Erasing):
        await bench.gateway.store("newcomer", NewMemory("new"))
    await bench.tenant("neighbour").store("newcomer", NewMemory("new"))


async def test_from_acceptance_nothing_half_erased_is_recalled_for_long(bench: Bench) -> None:
    await fill(bench)
    await bench.gateway.erase("bot")
    await bench.indexer.round()
    assert (await bench.gateway.recall("bot", Query("bot 1"))).entries == []


async def test_a_second_erasure_while_one_runs_is_the_same_operation(bench: Bench) -> None:
    await fill(bench)
    first = await bench.gateway.erase("bot")
    assert (await bench.gateway.erase("bot")).id == first.id
    assert (await bench.gateway.erase("other")).id != first.id
    whole = await bench.gateway.erase(None)
    assert whole.id != first.id
    assert (await bench.gateway.erase(None)).id == whole.id
    assert (await bench.gateway.erase("third")).id == whole.id  # which covers it
    await bench.quiet()
    assert (await bench.gateway.erase("bot")).id != first.id


async def test_an_operation_is_shown_to_its_tenant_alone_and_where_asked_to_its_agent_alone(bench: Bench) -> None:
    accepted = await bench.gateway.erase("bot")
    assert (await bench.gateway.erasure(accepted.id, only_agent="bot")).id == accepted.id
    absent = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
    details = set()
    for gateway, id_, only in (
        (bench.tenant("other"), accepted.id, None),
        (bench.gateway, absent, None),
        (bench.gateway, accepted.id, "other"),
    ):
        with pytest.raises(NotFound) as caught:
            await gateway.erasure(id_, only_agent=only)
        details.add(caught.value.detail)
    assert len(details) == 1
    with pytest.raises(InvalidRequest, match="operation_id"):
        await bench.gateway.erasure("forged")


async def test_what_is_pending_dead_or_astray_is_erased_too(bench: Bench) -> None:
    bench.index.error = Unavailable("The index is away.")
    await fill(bench)
    bench.index.error = None
    await set_rows(bench, "outbox", {"dead": "refused", "due_at": 9007199254740991}, agent_id="bot")
    stray = IndexedVector(
        Scope("acme", "bot"),
        "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
        (await bench.embedder.inner.embed(["stray"], "document")).vectors[0],
        1,
        1,
    )
    await bench.index.upsert([stray])
    accepted = await bench.gateway.erase("bot")
    await bench.quiet(rounds=20)
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert (receipt["erased"]["outbox_rows"], receipt["erased"]["dead_letters"]) == (3, 3)
    assert await held_of(bench, "acme", "bot") == 0


async def test_an_erasure_goes_on_in_chunks_where_it_was_stopped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(bench, memories=7)
    for name, value in {"MAX_CHUNK": 2, "MAX_CHUNKS": 1}.items():
        monkeypatch.setattr(erase, name, value)
    accepted = await bench.gateway.erase("bot")
    seen = []
    for _ in range(5):
        await bench.indexer.round()
        seen.append((await bench.gateway.erasure(accepted.id)).memories)
    assert seen == [2, 4, 6, 7, 7]
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    assert receipt["erased"]["memories"] == 7


async def test_an_erasure_of_what_never_was_has_its_receipt_at_once_and_leaves_no_work(bench: Bench) -> None:
    await fill(bench)
    done = await bench.gateway.erase("never")
    assert done.status == "done"
    assert (await bench.gateway.erasure(done.id)).receipt == done.receipt
    receipt = dict(done.receipt or {})
    finished_at, until = receipt.pop("finished_at"), receipt.pop("history_until")
    assert receipt == {
        "erased": dict.fromkeys(KINDS, 0),
        "found_by_id": 0,
        "found_by_search": 0,
    }
    assert finished_at >= done.accepted_at
    assert until == (finished_at + bench.database.history_days * DAY_MS if bench.database.history_days else None)
    bench.database.runs.clear()
    await bench.indexer.round()
    assert len(bench.database.runs) == 1
    assert (await bench.tenant("newcomer").erase(None)).status == "done"
    await bench.gateway.store("never", NewMemory("stored after its receipt"))


@pytest.mark.parametrize(
    "gone",
    [
        ["long_term_memory"],
        ["usage"],
        ["usage", "long_term_memory"],
        ["usage", "long_term_memory", "outbox"],
    ],
)
async def test_an_erasure_is_not_done_at_once_where_anything_of_its_scope_is_left(
    bench: Bench, gone: list[str]
) -> None:
    bench.index.error = Unavailable("The index is away.")
    await fill(bench)
    for table in gone:
        await delete_rows(bench, table)
    assert (await bench.gateway.erase("bot")).status == "running"
    assert (await bench.gateway.erase(None)).status == "running"


async def test_a_tenant_without_rows_is_not_erased_while_its_agents_erasure_looks_for_strays(bench: Bench) -> None:
    await fill(bench)
    await bench.gateway.erase("bot")
    for table in ("usage", "long_term_memory", "outbox", "idempotency"):
        await delete_rows(bench, table)
    assert (await bench.gateway.erase(None)).status == "running"


async def test_an_acceptance_that_is_made_again_is_the_same_erasure(bench: Bench) -> None:
    accept = Erasures("acme").accept("01K2Z4M1V7Q8T3B5N6C7D8E9FA", "never", history_days=0)
    first, again = [(await bench.database.run(accept))[-1] for _ in range(2)]
    assert first == again
    assert len(await rows_of(bench, "erasure", "id")) == 1


async def test_the_oldest_receipts_of_a_tenant_give_way(bench: Bench) -> None:
    row = {"tenant_id": "acme", "agent_id": "gone", "receipt": "{}"}
    numbers = range(1, 10_051)
    old = (row | {"id": f"01K{n:023d}", "accepted_at": n, "advanced_at": n} for n in numbers)
    await insert_rows(bench, "erasure", *old)
    await bench.tenant("neighbour").erase("never")
    latest = await bench.gateway.erase("never")
    left = await column_of(bench, "erasure", "accepted_at", tenant_id="acme")
    assert (len(left), min(left)) == (limits.MAX_RECEIPTS, 52)
    assert await count_of(bench, "erasure", tenant_id="neighbour") == 1
    assert (await bench.gateway.erasure(latest.id)).status == "done"


async def test_one_memorys_erasure_is_not_behind_the_agents_of_another_tenant(bench: Bench) -> None:
    crowd = bench.tenant("crowd")
    for n in range(20):
        await crowd.store(f"agent-{n}", NewMemory("text"))
        await crowd.erase(f"agent-{n}")
    await bench.gateway.store("bot", NewMemory("text"))
    mine = await bench.gateway.erase("bot")
    await bench.indexer.round()
    assert (await bench.gateway.erasure(mine.id)).memories == 1
    for _ in range(4):
        bench.later(300)
        await bench.indexer.round()
    assert (await bench.gateway.erasure(mine.id)).status == "done"
    await bench.quiet(rounds=30)
    assert await rows_of(bench, "erasure", "id", receipt=None) == []


async def test_a_tenants_removals_are_not_behind_thousands_of_another(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.quiet()
    (index_name,) = await column_of(bench, "embedding_config", "index_name")
    row = {"tenant_id": "crowd", "agent_id": "bot", "index_name": index_name, "operation": "delete", "revision": 1}
    await insert_rows(bench, "outbox", *(row | {"id": f"01K{n:023d}", "due_at": n} for n in range(1, 12_001)))
    accepted = await bench.gateway.erase("bot")
    await bench.indexer.round()
    bench.later(300)
    await bench.indexer.round()
    assert await bench.index.sample("acme", "bot") == []
    assert await count_of(bench, "outbox", tenant_id="crowd", acknowledged_at=None) >= 11000
    assert accepted.status == "running"


async def test_an_index_without_grace_lets_an_erasure_finish_without_a_wait(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await fill(bench)
        accepted = await bench.gateway.erase("bot")
        for _ in range(3):
            assert await bench.indexer.round() == 0
        assert (await bench.gateway.erasure(accepted.id)).status == "done"


async def test_a_chunk_of_each_erasure_comes_before_the_next_of_any(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(bench, "crowd", memories=5)
    await fill(bench, memories=2)
    for name, value in {"MAX_CHUNK": 1, "MAX_CHUNKS": 4}.items():
        monkeypatch.setattr(erase, name, value)
    crowd, mine = await bench.tenant("crowd").erase("bot"), await bench.gateway.erase("bot")
    await bench.indexer.round()
    erased = (await bench.tenant("crowd").erasure(crowd.id)).memories, (await bench.gateway.erasure(mine.id)).memories
    assert erased == (2, 2)


async def test_the_receipt_says_until_when_the_database_remembers(bench: Bench) -> None:
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    receipt = (await bench.gateway.erasure(accepted.id)).receipt
    assert receipt is not None
    days = bench.database.history_days
    assert receipt["history_until"] == (receipt["finished_at"] + days * DAY_MS if days else None)


async def test_every_deletion_leaves_an_audit_row_without_content(bench: Bench) -> None:
    memory_id = await bench.gateway.store("bot", NewMemory("a secret text"))
    await bench.gateway.delete("bot", memory_id)
    await bench.gateway.delete("bot", memory_id)
    await bench.gateway.erase("bot")
    await bench.quiet()
    rows = await rows_of(bench, "audit", by="number", event=Not("stored"))
    assert [(row["event"], row["tenant_id"], row["agent_id"], row["memory_id"]) for row in rows] == [
        ("deleted", "acme", "bot", memory_id),
        ("erased", "acme", "bot", None),
    ]
    assert "secret" not in str(rows)


async def test_after_an_erasure_the_process_remembers_no_query_of_the_tenant(bench: Bench) -> None:
    await bench.gateway.recall("bot", Query("a question of the erased"))
    await bench.tenant("neighbour").recall("bot", Query("a question of another"))
    before = bench.backends.caches.queries.held
    await bench.gateway.erase("bot")
    await bench.quiet()
    bench.embedder.calls.clear()
    await bench.gateway.recall("other", Query("anything"))
    await bench.gateway.recall("bot", Query("a question of the erased"))
    await bench.tenant("neighbour").recall("bot", Query("a question of another"))
    assert [texts for texts, _ in bench.embedder.calls] == [["anything"], ["a question of the erased"]]
    assert before > 0


async def test_an_erasure_takes_messages_that_are_no_memories_yet_and_the_names_of_profiles(bench: Bench) -> None:
    for tenant, agent in (("acme", "bot"), ("acme", "other"), ("globex", "bot")):
        scope = {"tenant_id": tenant, "agent_id": agent}
        await message(bench, "0" * 32, **scope)
        await ingestion(bench, f"{tenant}{agent}", **scope)
        await insert_rows(bench, "profile", scope | {"namespace": "default", "name": agent, "created_at": 1})
    accepted = await bench.gateway.erase("bot")
    await bench.quiet()
    done = await bench.gateway.erasure(accepted.id)
    assert done.receipt is not None
    assert done.receipt["erased"]["messages"] == 1
    for table in ("message", "ingestion", "profile"):
        left = await rows_of(bench, table, "tenant_id", "agent_id", by="tenant_id, agent_id")
        assert [(row["tenant_id"], row["agent_id"]) for row in left] == [("acme", "other"), ("globex", "bot")]


async def test_the_names_of_namespaces_go_with_their_tenant_and_not_with_an_agent(bench: Bench) -> None:
    for tenant in ("acme", "globex"):
        await insert_rows(
            bench, "namespace", {"tenant_id": tenant, "name": "n", "id": "i", "created_at": 1, "updated_at": 1}
        )
    await bench.tenant("acme").store("bot", NewMemory("red"))
    await bench.gateway.erase("bot")
    await bench.quiet()
    assert len(await rows_of(bench, "namespace")) == 2
    await bench.gateway.erase(None)
    await bench.quiet()
    assert await column_of(bench, "namespace", "tenant_id") == ["globex"]
    await bench.tenant("globex").erase(None)  # which holds nothing else
    await bench.quiet()
    assert await rows_of(bench, "namespace", "tenant_id") == []
