"""A tenant is moved to another shard while it is served."""

from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict, InvalidRequest, NotFound, ShardUnavailable
from app.domain.shards import MAIN
from app.ports.database import Database
from app.runtime.moving import move_tenant
from app.storage.system import carried
from app.storage.system.carried import NOT_CARRIED, CarriedTable, Values, read_tables
from app.storage.tiers.tables import TIER_TABLES
from tests.support.probes import PROBES
from tests.support.service import Service, serving
from tests.support.sharded import add_shards, placed, sharded
from tests.support.tables import insert_rows, rows_of, set_rows, tables_with

pytestmark = pytest.mark.thorough

_EAST = "east"
_QUIET = {
    "agent_runs_ancestors",
    "claim_placed",
    "claim_removed",
    "claim_superseded",
    "claim_waits",
    "ingestion_unlearned",
    *(f"long_term_memory_{what}" for what in ("followed", "follows", "learned", "not_learned", "restored", "said")),
    *(f"long_term_memory_{what}" for what in ("superseded", "unclaimed", "unlearned", "unmerged", "unrelated")),
    "long_term_memory_unsummarised",
    *("relation_placed", "relation_removed", "relation_contradicts", "relation_unlinks"),
    *("consolidated_placed", "consolidated_removed", "consolidated_undone", "shortcut_placed", "shortcut_removed"),
    *("archive_leaves_blob", "restored_archive_leaves_blob", "agent_runs_orphaned", "agent_runs_gone_with_parent"),
    *(f"{table}_{what}_blob" for table in ("agent_runs", "working_key") for what in ("changes", "leaves", "uses")),
}
_OF_MEMORIES = {"consolidation", "consolidated", "shortcut", "fact_source"}
_COUNTED = {
    *("message", "pass", "proposal"),
    *(
        tier.table
        for tier in TIER_TABLES
        if tier.table
        not in {"episodic_count", "context_floor", "recall_log", "relation", "snapshot", "archive", "golden_question"}
        | _OF_MEMORIES
    ),
}
"""Tables whose bytes count in the quota."""
_WRITES_DERIVED = {
    # The index of words is kept where the row is.
    *("long_term_memory_worded", "long_term_memory_unworded", "long_term_memory_reworded"),
    # Counts are replaced by the source's once the rows are there (``COUNTERS``).
    *("long_term_memory_counted", "long_term_memory_uncounted", "long_term_memory_recounted"),
    *("agent_runs_counted", "agent_runs_uncounted", "memory_episodes_counted", "memory_episodes_uncounted"),
    *("idempotency_counted", "idempotency_uncounted", "idempotency_bounded"),
    *(f"{table}_bytes_{what}" for table in _COUNTED for what in ("counted", "uncounted")),
    *(f"{table}_bytes_recounted" for table in ("agent_runs", "proposal", "workflow", "workflow_tally")),
    *(f"{table}_bytes_recounted" for table in ("working_key", "working_summary")),
    # They only refuse, and no carried row is refused: a source has no such row, and rows are not updated.
    *("long_term_memory_created_at_is_final", "tool_call_log_bounded", "working_summary_checked"),
    "erasure_waits_for_snapshots",
}


async def moved(service: Service, tenant: str, shard: str) -> None:
    await move_tenant(service.shards, tenant, shard, lambda _: None, poll_seconds=0, linger_seconds=0)


async def tables_of(database: Database) -> list[CarriedTable]:
    (found,) = await database.run([carried.READ_SCHEMA])
    return read_tables(found)


async def everything(database: Database, tenant: str) -> dict[str, list[Values]]:
    """Every row of a tenant, without what is a database's own."""
    held: dict[str, list[Values]] = {}
    for table in await tables_of(database):
        (found,) = await database.run([table.page(tenant, None, 10_000)])
        own = {"number"} if table.renumbers else set()
        held[table.name] = sorted(
            (
                tuple(value for column, value in zip(table.columns, values, strict=True) if column not in own)
                if own
                else table.compared(values)
                for values in map(table.read, found)
            ),
            key=repr,
        )
    return held


async def test_a_moved_tenant_finds_all_that_it_has_stored(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await service.store("a fox in the snow", tenant="acme")
        await service.store("a bear in the wood", tenant="acme")
        await service.store("an owl", tenant="globex")
        before = (await service.shards.of("acme")).backends.shard
        await moved(service, "acme", _EAST if before == MAIN else MAIN)
        assert sorted(await service.contents("fox bear", tenant="acme")) == ["a bear in the wood", "a fox in the snow"]
        assert await service.contents("owl", tenant="globex") == ["an owl"]
        left = await rows_of(service.shards.runtimes[before], "long_term_memory", "id", tenant_id="acme")
        assert left == []


async def test_words_that_were_searched_before_a_move_are_found_where_the_tenant_lives_now(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await placed(service, "globex", _EAST)
        await service.store("an owl", tenant="globex")
        for content in ("a fox in the snow", "a bear in the wood"):
            await service.store(content, tenant="acme")
        here = await service.recall("fox", tenant="acme")
        await moved(service, "acme", _EAST)
        there = await service.recall("fox", tenant="acme")
        assert [entry["content"] for entry in there] == [entry["content"] for entry in here]
        assert there[0]["score"] == pytest.approx(here[0]["score"], abs=0.01)  # the outbox has rounded vectors


@pytest.fixture
def nothing_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no work of the process change a row between two looks."""

    async def rest(*_: object) -> None:
        return

    monkeypatch.setattr("app.runtime.runtime.Runtime._work", rest)
    monkeypatch.setattr("app.runtime.background.periodic_works", lambda *_, **__: [])


@pytest.mark.usefixtures("nothing_in_the_background")
async def test_every_row_of_every_table_arrives_as_it_was_and_none_stays(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store("the launch code", tenant="owner", agent_id="keeper")
        for probe in PROBES.values():
            await probe(service, "owner", "keeper")
            await probe(service, "other", "keeper")
    await add_shards(tmp_path, [_EAST])
    async with serving(tmp_path) as service:
        main, east = (service.shards.runtimes[name].backends.database for name in (MAIN, _EAST))
        before, others = await everything(main, "owner"), await everything(main, "other")
        assert sum(1 for found in before.values() if found) > 20
        await moved(service, "owner", _EAST)
        assert await everything(east, "owner") == before
        assert not any((await everything(main, "owner")).values())
        assert await everything(main, "other") == others
        await moved(service, "owner", MAIN)
        assert await everything(main, "owner") == before
        assert await rows_of(service.shards.runtimes[_EAST], "tenant_changes") == []


async def test_each_table_with_rows_of_tenants_is_carried_or_named_with_the_reason(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        named = {table.name for table in await tables_of(service.runtime.backends.database)} | set(NOT_CARRIED)
        assert {*await tables_with(service, "tenant_id")} == named


async def test_each_trigger_of_a_carried_table_rests_while_rows_arrive_or_is_named_with_the_reason(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        carried_tables = {table.name for table in await tables_of(service.runtime.backends.database)}
        found = await rows_of(service.runtime, "sqlite_master", "name", "tbl_name", "sql", type="trigger")
        of_tables = {str(row["name"]) for row in found if row["tbl_name"] in carried_tables}
        assert of_tables == _QUIET | _WRITES_DERIVED


@pytest.mark.usefixtures("nothing_in_the_background")
async def test_a_tenant_that_is_being_erased_is_not_moved(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        assert (await service.runtime.services("acme").gateway.erase(None)).status == "running"
        with pytest.raises(Conflict, match="is being erased"):
            await moved(service, "acme", _EAST)
        assert await service.contents("fox", tenant="acme") == ["a fox"]


@pytest.mark.usefixtures("nothing_in_the_background")
@pytest.mark.parametrize("home", [MAIN, _EAST], ids=["copied", "switched"])
async def test_an_erasure_has_no_receipt_while_another_shard_has_rows_of_the_tenant(tmp_path: Path, home: str) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        runtimes = {name: service.shards.runtimes[name] for name in (MAIN, _EAST)}
        other = runtimes[_EAST if home == MAIN else MAIN].backends.database

        def stop(told: str) -> None:
            if told.startswith("compared" if home == MAIN else f"{_EAST} serves the tenant now"):
                raise KeyboardInterrupt

        async def is_erased() -> bool:
            for _ in range(9):
                await set_rows(runtimes[home], "erasure", {"advanced_at": 0}, receipt=None)  # its turn comes
                await runtimes[home].indexer.round()
            (row,) = await rows_of(runtimes[home], "erasure", "receipt", tenant_id="acme")
            return row["receipt"] is not None

        with pytest.raises(KeyboardInterrupt):
            await move_tenant(service.shards, "acme", _EAST, stop, poll_seconds=0, linger_seconds=0)
        accepted = await service.client.delete("/tenant?confirm=acme", headers=service.credential("acme", admin=True))
        assert accepted.status_code == 202, accepted.text
        assert not await is_erased()
        assert any((await everything(other, "acme")).values())
        service.later(60)  # the move's lease has ended
        if home == MAIN:
            with pytest.raises(Conflict, match="the move was given up"):
                await moved(service, "acme", _EAST)
        else:
            await moved(service, "acme", _EAST)
        assert not any((await everything(other, "acme")).values())
        assert await is_erased()


@pytest.mark.usefixtures("nothing_in_the_background")
async def test_shards_with_other_embedding_configs_do_not_exchange_tenants(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        for tenant, shard in (("acme", MAIN), ("globex", _EAST)):
            await placed(service, tenant, shard)
            await service.store("a fox", tenant=tenant)
        for table in ("embedding_in_use", "embedding_config"):
            other = {"model": "other", "index_name": "lt-memory-hashing-other"}
            await set_rows(service.shards.runtimes[_EAST], table, other)
        with pytest.raises(Conflict, match="Re-embed one of them first"):
            await moved(service, "acme", _EAST)
        assert await service.contents("fox", tenant="acme") == ["a fox"]


async def test_a_move_that_is_given_up_leaves_the_tenant_where_it_was(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        main, east = (service.shards.runtimes[name].backends.database for name in (MAIN, _EAST))

        def stop(told: str) -> None:
            if told.startswith("compared"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await move_tenant(service.shards, "acme", _EAST, stop, poll_seconds=0, linger_seconds=0)
        service.later(60)
        before = await everything(main, "acme")
        assert any((await everything(east, "acme")).values())
        await moved(service, "acme", MAIN)
        assert not any((await everything(east, "acme")).values())
        assert await everything(main, "acme") == before
        assert await service.contents("fox", tenant="acme") == ["a fox"]
        await service.store("a bear", tenant="acme")
        assert await rows_of(service.runtime, "tenant_changes") == []
        await moved(service, "acme", _EAST)
        assert sorted(await service.contents("fox bear", tenant="acme")) == ["a bear", "a fox"]


@pytest.mark.parametrize("home", [MAIN, _EAST])
async def test_a_tenant_is_not_moved_to_where_it_lives(tmp_path: Path, home: str) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", home)
        await service.store("a fox", tenant="acme")
        with pytest.raises(InvalidRequest, match=f"lives in the shard {home} already"):
            await moved(service, "acme", home)
        assert await service.contents("fox", tenant="acme") == ["a fox"]
        assert await rows_of(service.runtime, "tenant_moves") == []


async def test_a_tenant_is_not_moved_to_a_shard_that_is_not_in_the_directory(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        with pytest.raises(NotFound, match=r"There is no shard west\. There are: main, east\."):
            await moved(service, "acme", "west")
        assert await service.contents("fox", tenant="acme") == ["a fox"]
        assert await rows_of(service.runtime, "tenant_moves") == []


async def test_a_tenant_whose_shard_is_not_in_the_directory_is_not_moved(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await insert_rows(service, "tenant_places", {"tenant_id": "lost", "shard": "west", "epoch": 1})
        with pytest.raises(ShardUnavailable, match="The shard west, where the tenant lives, is not in the directory"):
            await moved(service, "lost", _EAST)
        assert await rows_of(service.runtime, "tenant_moves") == []


async def test_a_tenant_that_is_moved_to_one_shard_is_not_moved_to_a_third(tmp_path: Path) -> None:
    async with sharded(tmp_path, ["east", "west"]) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        move = {"tenant_id": "acme", "source": "main", "target": "east", "epoch": 1, "mover": "another"}
        await insert_rows(service, "tenant_moves", move | {"leased_until": 0})
        with pytest.raises(Conflict, match="is being moved to east"):
            await moved(service, "acme", "west")
        await moved(service, "acme", "east")
        assert await service.contents("fox", tenant="acme") == ["a fox"]


@pytest.mark.usefixtures("nothing_in_the_background")
@pytest.mark.parametrize(
    ("left", "said"),
    [
        (
            ("audit", {"tenant_id": "acme", "event": "stored", "detail": "{}", "created_at": 1}),
            "The tenant's rows in the table audit differ between main and east, though nobody has changed them.",
        ),
        (
            ("tenant_epochs", {"tenant_id": "acme", "epoch": 7, "state": "here"}),
            "The notes of where the tenant lives differ between main and east, though nobody has changed them.",
        ),
    ],
)
async def test_a_move_to_a_shard_that_was_in_use_says_what_differs_and_can_be_given_up(
    tmp_path: Path, left: tuple[str, dict[str, Any]], said: str
) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", MAIN)
        await service.store("a fox", tenant="acme")
        await insert_rows(service.shards.runtimes[_EAST], *left)
        with pytest.raises(Conflict, match=said) as refused:
            await moved(service, "acme", _EAST)
        assert "Give the move up with: memory-gateway shard move acme main" in refused.value.detail
        service.later(60)
        await moved(service, "acme", MAIN)
        assert await rows_of(service.runtime, "tenant_moves") == []
        assert await service.contents("fox", tenant="acme") == ["a fox"]
