"""Every lease holds for its length and no longer, whatever a clock that was ahead has left."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import Scope, Tenant
from app.domain.messages import NewMessage
from app.domain.shards import Place
from app.ports.database import NOW
from app.runtime.ingestions import resume_once
from app.services.ingest.identify import identify
from app.services.ingest.messages import Taking
from app.storage.request_state import read, request_state
from app.storage.system.leases import INDEXER, NamedLease, read_leases, release_dead
from app.storage.system.moving import Mover
from app.storage.system.reconcile import LEASE as RECONCILE
from app.storage.tiers.windows import Windows
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

DAY_MS = 86_400_000
SCOPE = Scope("acme", "bot")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made
        await made.backends.background.close()


@pytest.mark.parametrize("lease", [INDEXER, RECONCILE], ids=lambda lease: lease.name)
async def test_a_named_lease_holds_until_it_ends_and_not_for_a_day(bench: Bench, lease: NamedLease) -> None:
    async def taken(holder: str) -> bool:
        (rows,) = await bench.database.run([lease.hold(holder)])
        return bool(rows)

    assert await taken("one")
    assert not await taken("other")
    await bench.change(f"UPDATE lease SET expires_at = {NOW} + {DAY_MS}")
    (found,) = read_leases((await bench.database.run([lease.read()]))[0])
    assert (found.holder, found.void) == ("one", True)
    assert found.left_ms == pytest.approx(DAY_MS, abs=60_000)
    assert await taken("other")
    assert not await taken("one")
    await bench.change(f"UPDATE lease SET expires_at = {NOW}")
    assert await taken("one")


async def test_the_lease_of_an_ingestion_a_day_ahead_keeps_nobody_waiting(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify([NewMessage("user", "I live in Rome")], "s", backends.clock())
    await Taking(backends, SCOPE, conversation).take("one")
    assert await resume_once(bench.backends) == 0
    await bench.change(f"UPDATE ingestion SET lease_expires_at = {NOW} + {DAY_MS}")
    assert await resume_once(bench.backends) == 1
    assert await bench.memories() == 1


async def test_an_ingestion_whose_messages_were_taken_a_day_ahead_is_gone_on_with(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify([NewMessage("user", "I live in Rome")], "s", backends.clock())
    await Taking(backends, SCOPE, conversation).take("one")
    await bench.change("UPDATE ingestion SET staged_at = NULL, lease_holder = NULL, lease_expires_at = NULL")
    assert await resume_once(bench.backends) == 0
    await bench.change(f"UPDATE ingestion SET accepted_at = {NOW} + {DAY_MS}")
    assert await resume_once(bench.backends) == 1


async def test_the_lease_of_a_move_a_day_ahead_is_taken_over(bench: Bench) -> None:
    one, other = Mover("acme", "1:one"), Mover("acme", "2:other")

    async def leased(mover: Mover) -> bool:
        (rows,) = await bench.database.run([mover.lease("main", Place("second", 1))])
        return bool(rows)

    assert await leased(one)
    assert not await leased(other)
    await bench.change(f"UPDATE tenant_moves SET leased_until = {NOW} + {DAY_MS}")
    assert await leased(other)


async def test_the_fence_of_a_move_a_day_ahead_stops_no_request(bench: Bench) -> None:
    await bench.change(
        "INSERT INTO tenant_epochs (tenant_id, epoch, state, mover, fenced_until) "
        f"VALUES ('acme', 0, 'leaving', '1:one', {NOW} + {DAY_MS})"
    )
    await bench.change("INSERT INTO tenant_presence (tenant_id, epoch) VALUES ('acme', 0)")
    await bench.change(f"UPDATE tenant_epochs SET fenced_until = {NOW} + 4000")
    with pytest.raises(Exception, match="moving"):
        await bench.change("INSERT INTO tenant_presence (tenant_id, epoch) VALUES ('acme', 0)")


async def test_a_window_that_is_busy_for_a_day_is_settled(bench: Bench) -> None:
    window = Windows(SCOPE, "main")
    for busy, claimed in ((f"{NOW} + 30000", 0), (f"{NOW} + {DAY_MS}", 1), ("0", 1)):
        await bench.change("DELETE FROM working_window")
        await bench.change(
            "INSERT INTO working_window (tenant_id, agent_id, instance, expires_at, over, busy_until) "
            f"VALUES ('acme', 'bot', 'main', 0, 1, {busy})"
        )
        (rows,) = await bench.database.run([window.claim()])
        assert len(rows) == claimed, busy


async def test_work_is_unattended_where_the_lease_is_a_day_ahead(bench: Bench) -> None:
    await bench.gateway.erase("bot")
    await bench.change(
        "INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at) "
        "VALUES ('acme', 'bot', '01M83S0QYN441273B4WS2FKVNT', 'index', 'delete', 1, 1)"
    )

    async def unattended() -> bool:
        ((state,),) = await bench.database.run([read(Tenant("acme"))])
        return request_state(state).unattended

    await bench.database.run([INDEXER.hold("one")])
    assert not await unattended()
    await bench.change(f"UPDATE lease SET expires_at = {NOW} + {DAY_MS}")
    assert await unattended()


async def test_what_a_dead_process_held_is_free_and_nothing_of_another(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    for process, session in (("host:1:ab", "s"), ("host:1:abc", "t")):
        conversation = await identify([NewMessage("user", "I live in Rome")], session, backends.clock())
        await Taking(backends, SCOPE, conversation).take(f"{process}/1")
        tenant = Mover(f"of {process}", f"000:{process}:ff")
        await bench.database.run([tenant.lease("main", Place("second", 1))])
    await bench.database.run([INDEXER.hold("host:1:ab"), RECONCILE.hold("host:1:abc")])
    leases, ingestions, moves = await bench.database.run(release_dead("host:1:ab"))
    assert [row["name"] for row in leases] == ["indexer"]
    assert len(ingestions) == 1
    assert [row["tenant_id"] for row in moves] == ["of host:1:ab"]
    assert [row["holder"] for row in await bench.rows("SELECT holder FROM lease")] == ["host:1:abc"]
    held = await bench.rows("SELECT lease_holder FROM ingestion WHERE lease_holder IS NOT NULL")
    assert [row["lease_holder"] for row in held] == ["host:1:abc/1"]
    assert await resume_once(bench.backends) == 1
