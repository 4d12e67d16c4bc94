"""Every lease holds for its length and no longer, whatever a clock that was ahead has left."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.memory import Scope, Tenant
from app.domain.messages import NewMessage
from app.domain.shards import Place
from app.runtime.ingestions import resume_once
from app.services.ingest.identify import identify
from app.services.ingest.messages import Taking
from app.storage.request_state import read, request_state
from app.storage.system.leases import INDEXER, NamedLease, read_leases, release_all_of
from app.storage.system.moving import Mover
from app.storage.system.reconcile import LEASE as RECONCILE
from app.storage.tiers.windows import Windows
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.tables import ANY, column_of, delete_rows, insert_rows, rows_of, set_rows

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
    await set_rows(bench, "lease", {"expires_at": bench.clock() + DAY_MS})
    (found,) = read_leases((await bench.database.run([lease.read()]))[0])
    assert (found.holder, found.void) == ("one", True)
    assert found.left_ms == pytest.approx(DAY_MS, abs=60_000)
    assert await taken("other")
    assert not await taken("one")
    await set_rows(bench, "lease", {"expires_at": bench.clock()})
    assert await taken("one")


async def test_the_lease_of_an_ingestion_a_day_ahead_keeps_nobody_waiting(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify([NewMessage("user", "I live in Rome")], "s", backends.clock())
    await Taking(backends, SCOPE, conversation).take("one")
    assert await resume_once(bench.backends) == 0
    await set_rows(bench, "ingestion", {"lease_expires_at": bench.clock() + DAY_MS})
    assert await resume_once(bench.backends) == 1
    assert await bench.memories() == 1


async def test_an_ingestion_whose_messages_were_taken_a_day_ahead_is_gone_on_with(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify([NewMessage("user", "I live in Rome")], "s", backends.clock())
    await Taking(backends, SCOPE, conversation).take("one")
    await set_rows(bench, "ingestion", {"staged_at": None, "lease_holder": None, "lease_expires_at": None})
    assert await resume_once(bench.backends) == 0
    await set_rows(bench, "ingestion", {"accepted_at": bench.clock() + DAY_MS})
    assert await resume_once(bench.backends) == 1


async def test_the_lease_of_a_move_a_day_ahead_is_taken_over(bench: Bench) -> None:
    one, other = Mover("acme", "1:one"), Mover("acme", "2:other")

    async def leased(mover: Mover) -> bool:
        (rows,) = await bench.database.run([mover.lease("main", Place("second", 1))])
        return bool(rows)

    assert await leased(one)
    assert not await leased(other)
    await set_rows(bench, "tenant_moves", {"leased_until": bench.clock() + DAY_MS})
    assert await leased(other)


async def test_the_fence_of_a_move_a_day_ahead_stops_no_request(bench: Bench) -> None:
    leaving = {"tenant_id": "acme", "epoch": 0, "state": "leaving", "mover": "1:one"}
    await insert_rows(bench, "tenant_epochs", leaving | {"fenced_until": bench.clock() + DAY_MS})
    await insert_rows(bench, "tenant_presence", {"tenant_id": "acme", "epoch": 0})
    await set_rows(bench, "tenant_epochs", {"fenced_until": bench.clock() + 4000})
    with pytest.raises(Exception, match="moving"):
        await insert_rows(bench, "tenant_presence", {"tenant_id": "acme", "epoch": 0})


async def test_a_window_that_is_busy_for_a_day_is_settled(bench: Bench) -> None:
    window = Windows(SCOPE, "main")
    now = bench.clock()
    for busy, claimed in ((now + 30_000, 0), (now + DAY_MS, 1), (0, 1)):
        await delete_rows(bench, "working_window")
        await insert_rows(
            bench,
            "working_window",
            {
                "tenant_id": "acme",
                "agent_id": "bot",
                "instance": "main",
                "expires_at": 0,
                "over": 1,
                "busy_until": busy,
            },
        )
        (rows,) = await bench.database.run([window.claim()])
        assert len(rows) == claimed, busy


async def test_work_is_unattended_where_the_lease_is_a_day_ahead(bench: Bench) -> None:
    await bench.gateway.erase("bot")
    await insert_rows(
        bench,
        "outbox",
        {
            "tenant_id": "acme",
            "agent_id": "bot",
            "id": "01M83S0QYN441273B4WS2FKVNT",
            "index_name": "index",
            "operation": "delete",
            "revision": 1,
            "due_at": 1,
        },
    )

    async def unattended() -> bool:
        ((state,),) = await bench.database.run([read(Tenant("acme"))])
        return request_state(state).unattended

    await bench.database.run([INDEXER.hold("one")])
    assert not await unattended()
    await set_rows(bench, "lease", {"expires_at": bench.clock() + DAY_MS})
    assert await unattended()


async def test_what_a_dead_process_held_is_free_and_nothing_of_another(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    for process, session in (("host:1:ab", "s"), ("host:1:abc", "t")):
        conversation = await identify([NewMessage("user", "I live in Rome")], session, backends.clock())
        await Taking(backends, SCOPE, conversation).take(f"{process}/1")
        tenant = Mover(f"of {process}", f"000:{process}:ff")
        await bench.database.run([tenant.lease("main", Place("second", 1))])
    await bench.database.run([INDEXER.hold("host:1:ab"), RECONCILE.hold("host:1:abc")])
    leases, ingestions, moves = await bench.database.run(release_all_of("host:1:ab"))
    assert [row["name"] for row in leases] == ["indexer"]
    assert len(ingestions) == 1
    assert [row["tenant_id"] for row in moves] == ["of host:1:ab"]
    assert await column_of(bench, "lease", "holder") == ["host:1:abc"]
    held = await rows_of(bench, "ingestion", "lease_holder", lease_holder=ANY)
    assert [row["lease_holder"] for row in held] == ["host:1:abc/1"]
    assert await resume_once(bench.backends) == 1
