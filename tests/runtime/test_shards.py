"""A process serves every tenant from the shard where it lives."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars, get_contextvars
from structlog.testing import capture_logs

from app.bootstrap import build_shards, shard_file
from app.bootstrap.files import open_file
from app.domain.errors import ConfigurationError, DatabaseUnavailable, InvalidRequest, ShardUnavailable
from app.domain.shards import Shard
from app.ports.database import Row, Statement
from app.runtime.fullness import ShardFigures
from app.runtime.runtime import Runtime
from tests.support.memories import memory_rows, tenants
from tests.support.service import Service, serving, settings_for
from tests.support.sharded import add_shards, placed, sharded
from tests.support.tables import insert_rows, rows_of, set_rows

pytestmark = pytest.mark.thorough


async def _lives_at_home_now(service: Service) -> None:
    """Do what a move does that ends before it has told the directory."""
    await insert_rows(service, "tenant_epochs", {"tenant_id": "acme", "epoch": 2, "state": "here"})
    await set_rows(
        service.shards.runtimes["east"],
        "tenant_epochs",
        {"state": "gone", "to_shard": "main", "to_epoch": 2},
        tenant_id="acme",
    )


async def test_each_tenant_s_memories_are_in_the_database_of_its_shard(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        await placed(service, "globex", "main")
        await service.store("a fox in the east", tenant="acme")
        await service.store("a bear at home", tenant="globex")
        assert await service.contents("fox", tenant="acme") == ["a fox in the east"]
        assert await service.contents("bear", tenant="globex") == ["a bear at home"]
        found = {name: await tenants(runtime) for name, runtime in service.shards.runtimes.items()}
        assert found == {"main": ["globex"], "east": ["acme"]}


async def test_a_tenant_that_was_there_before_the_first_shard_stays_where_it_is(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store("a fox", tenant="acme")
    async with sharded(tmp_path) as service:
        assert await service.contents("fox", tenant="acme") == ["a fox"]
        assert await rows_of(service.runtime, "tenant_places") == []


async def test_new_tenants_live_in_the_shard_that_is_least_full(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for number in range(40):
            await service.store(f"a fox, the {number}. of them, and its long story" * 20, tenant="acme")
    async with sharded(tmp_path) as service:
        await service.store("a bear", tenant="globex")
        assert await rows_of(service.runtime, "tenant_places", "tenant_id", "shard", "epoch") == [
            {"tenant_id": "globex", "shard": "east", "epoch": 1}
        ]
        assert await service.contents("bear", tenant="globex") == ["a bear"]


class _Away:
    """A database that does not answer."""

    backend = "away"

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        raise DatabaseUnavailable(f"It is away: {len(statements)} statements.")


@pytest.mark.parametrize("ready", [False, True])
async def test_a_new_tenant_is_placed_elsewhere_where_the_least_full_shard_went_away_since_it_was_measured(
    tmp_path: Path, *, ready: bool
) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "main")
        assert await service.shards.fullness.least_first() == ["east", "main"]
        east = service.shards.runtimes["east"]
        answering = east.backends
        east.backends = replace(answering, database=_Away())  # type: ignore[arg-type]  # all that is asked of it
        east.not_ready = None if ready else DatabaseUnavailable("It is away.")
        await service.store("a bear", tenant="globex")
        east.backends = answering
        assert await service.contents("bear", tenant="globex") == ["a bear"]
        places = await rows_of(service.runtime, "tenant_places", "shard", tenant_id="globex")
        assert places == [{"shard": "main"}]


async def test_two_processes_that_place_a_new_tenant_agree(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east", "west"])
    async with serving(tmp_path) as one, serving(tmp_path) as other:
        await placed(one, "acme", "west")
        assert (await other.shards.of("acme")).backends.shard == "west"
        await one.store("a fox", tenant="acme")
        assert await other.contents("fox", tenant="acme") == ["a fox"]


async def test_a_shard_that_was_added_meanwhile_is_found_by_a_process_that_runs(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.store("a fox", tenant="acme")
        await add_shards(tmp_path, ["east"])
        await service.store("another fox", tenant="acme")
        assert service.shards.places.sharded
        assert (await service.shards.of("acme")).backends.shard == "main"
        assert (await service.shards.opened("east")).backends.shard == "east"


async def test_a_new_shard_takes_no_tenant_before_every_process_knows_of_it(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await set_rows(service, "shards", {"added_at": 9000000000000})
        await service.store("a bear", tenant="globex")
        assert (await service.shards.of("globex")).backends.shard == "main"


async def test_a_process_with_an_outdated_place_finds_the_tenant_where_it_lives_now(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        await service.store("a fox in the east", tenant="acme")
        await _lives_at_home_now(service)
        assert await service.contents("fox", tenant="acme") == []
        await service.store("a bear at home", tenant="acme")
        assert await service.contents("bear", tenant="acme") == ["a bear at home"]
        places = await rows_of(service.runtime, "tenant_places", "shard", "epoch", tenant_id="acme")
        assert places == [{"shard": "main", "epoch": 2}]
        assert len(await rows_of(service.shards.runtimes["east"], "long_term_memory")) == 1


async def test_a_write_with_an_outdated_place_changes_nothing_there(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        await service.store("a fox in the east", tenant="acme")
        await _lives_at_home_now(service)
        await service.store("a bear at home", tenant="acme")
        assert len(await rows_of(service.shards.runtimes["east"], "long_term_memory")) == 1
        assert len(await memory_rows(service.runtime)) == 1


async def test_a_tenant_that_is_just_moving_is_told_to_try_again(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await placed(service, "acme", "east")
        east = service.shards.runtimes["east"].backends.database
        await set_rows(east, "tenant_epochs", {"fenced_until": service.clock() + 5000})
        answer = await service.post("/store", {"agent_id": "bot", "content": "a fox"})
        assert (answer.status_code, answer.json()["code"]) == (503, "tenant_moved")
        assert answer.headers["retry-after"] == "1"
        assert await service.recall("fox") == []
        await service.store("a bear", tenant="globex")


async def test_a_missing_shard_concerns_its_own_tenants_alone(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    shard_file(settings_for(tmp_path), "east").unlink()
    async with serving(tmp_path) as service:
        await insert_rows(
            service,
            "tenant_places",
            {"tenant_id": "acme", "shard": "east", "epoch": 1},
            {"tenant_id": "lost", "shard": "west", "epoch": 1},
        )
        for tenant, shard in (("acme", "east"), ("lost", "west")):
            answer = await service.post("/recall", {"agent_id": "bot", "query": "fox"}, tenant=tenant)
            assert (answer.status_code, answer.json()["code"]) == (503, "shard_unavailable")
            assert f"The shard {shard}" in answer.json()["detail"]
            assert str(tmp_path) not in answer.text
        await service.store("a bear", tenant="globex")
        assert await service.contents("bear", tenant="globex") == ["a bear"]
        ready = await service.client.get("/readyz", params={"details": "false"})
        assert ready.status_code == 200
        (part,) = [part for part in ready.json()["parts"] if part["name"] == "shard east"]
        assert (part["status"], part["code"]) == ("failing", "shard_unavailable")
        assert (
            part["detail"]
            == "The shard east cannot be used: The file shards/east.sqlite3 of DATA_DIR is missing or empty."
        )


def test_the_path_of_a_missing_shard_is_in_the_log(tmp_path: Path) -> None:
    path = shard_file(settings_for(tmp_path), "east")
    with capture_logs() as logged, pytest.raises(ConfigurationError):
        open_file(settings_for(tmp_path), Shard("east", None, 0))
    assert logged == [{"event": "shard_file_missing", "shard": "east", "path": str(path), "log_level": "error"}]


async def test_a_shard_whose_file_is_back_is_served_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.openings.RETRY_SECONDS", 0.0)
    await add_shards(tmp_path, ["east"])
    file = shard_file(settings_for(tmp_path), "east")
    away = file.rename(tmp_path / "away.sqlite3")
    async with serving(tmp_path) as service:
        await insert_rows(service, "tenant_places", {"tenant_id": "acme", "shard": "east", "epoch": 0})
        query = {"agent_id": "bot", "query": "fox"}
        assert (await service.post("/recall", query, tenant="acme")).status_code == 503
        away.rename(file)
        assert (await service.post("/recall", query, tenant="acme")).status_code == 200


async def test_a_shard_that_cannot_be_opened_leaves_the_background_work_of_the_others_alone(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    async with serving(tmp_path) as service:
        await insert_rows(service.shards.runtimes["east"], "d1_migrations", {"name": "9999_later.sql"})
    built = build_shards(settings_for(tmp_path))
    await built.main.start()
    going_on = asyncio.Event()
    work = built.main.backends.background.start(going_on.wait(), name="ingestion")
    try:
        await built.places.load()
        with pytest.raises(ShardUnavailable):
            await built.opened("east")
        going_on.set()
        assert await work
    finally:
        await built.close()


async def test_requests_of_other_tenants_do_not_wait_for_a_shard_that_is_just_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        await service.store("a fox", tenant="acme")
        await add_shards(tmp_path, ["east"])
        may_open, _ = _opens_when_told(monkeypatch)
        await insert_rows(service, "tenant_places", {"tenant_id": "globex", "shard": "east", "epoch": 0})
        async with asyncio.timeout(30):
            await service.store("another fox", tenant="acme")
        waiting = asyncio.create_task(service.store("a bear", tenant="globex"))
        async with asyncio.timeout(30):
            assert len(await service.contents("fox", tenant="acme")) == 2
        assert not waiting.done()
        may_open.set()
        await waiting


async def test_a_request_that_is_cancelled_while_it_waits_for_a_shard_takes_nobody_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        await add_shards(tmp_path, ["east"])
        may_open, begun = _opens_when_told(monkeypatch)
        await service.shards.places.load()
        first, second = (asyncio.create_task(service.shards.opened("east")) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        may_open.set()
        assert [await second] == begun


async def test_what_a_shard_logs_is_not_told_as_of_the_request_that_opened_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    real = Runtime.prepare

    async def prepare(runtime: Runtime) -> None:
        told.append(get_contextvars())
        await real(runtime)

    async with serving(tmp_path) as service:
        await add_shards(tmp_path, ["east"])
        await service.shards.places.load()
        monkeypatch.setattr(Runtime, "prepare", prepare)
        with bound_contextvars(request_id="of the request"):
            await service.shards.opened("east")
    assert told == [{}]


def _opens_when_told(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, list[Runtime]]:
    """Have the runtimes that are opened from now on wait for the event; they are in the list."""
    may_open, begun, prepare = asyncio.Event(), list[Runtime](), Runtime.prepare

    async def waits(runtime: Runtime) -> None:
        begun.append(runtime)
        await may_open.wait()
        await prepare(runtime)

    monkeypatch.setattr(Runtime, "prepare", waits)
    return may_open, begun


@pytest.mark.parametrize("name", ["", "main", "East", "1st", "a" * 17, "a-b", "east"])
async def test_a_shard_of_a_wrong_or_taken_name_is_refused(tmp_path: Path, name: str) -> None:
    async with sharded(tmp_path) as service:
        with pytest.raises(InvalidRequest):
            await service.shards.add(name, None)


async def test_of_two_processes_that_add_a_shard_of_one_name_one_is_refused(tmp_path: Path) -> None:
    async with sharded(tmp_path) as one, serving(tmp_path) as other:
        done = await asyncio.gather(
            one.shards.add("west", "a-database"), other.shards.add("west", "another"), return_exceptions=True
        )
        (refused,) = [each for each in done if each is not None]
        assert isinstance(refused, InvalidRequest)
        assert "There is a shard west" in refused.detail
        assert await rows_of(one.runtime, "shards", "name") == [{"name": "east"}, {"name": "west"}]


async def test_two_shards_do_not_share_a_database(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await service.shards.add("west", "one-database")
        with pytest.raises(InvalidRequest, match="Another shard has the database"):
            await service.shards.add("south", "one-database")


def test_operators_are_warned_from_8_gb_and_16_million_vectors() -> None:
    assert ShardFigures("east", 7_999_999_999, 15_999_999, 0, settled=True).warning is None
    assert "Add a shard" in (ShardFigures("east", 8_000_000_000, 0, 0, settled=True).warning or "")
    assert "Add a shard" in (ShardFigures("east", 0, 16_000_000, 0, settled=True).warning or "")


async def test_readiness_and_metrics_tell_of_a_shard_that_is_nearly_full(tmp_path: Path) -> None:
    async def eight_gigabytes() -> int:
        return 8_000_000_000

    await add_shards(tmp_path, ["east"])
    async with serving(
        tmp_path, change=lambda given: replace(given, stored_bytes=eight_gigabytes, limited=True)
    ) as service:
        await service.shards.fullness.measure()
        ready = await service.client.get("/readyz", params={"details": "false"})
        assert ready.status_code == 200
        (part,) = [part for part in ready.json()["parts"] if part["name"] == "size of shard main"]
        assert "8.0 of 10 GB" in part["detail"]
        told = (await service.client.get("/metrics")).text
        assert 'memory_gateway_shard_bytes{shard="main"} 8e+09' in told


async def test_a_shard_that_cannot_be_closed_does_not_keep_the_others_from_being_closed(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east", "west"])
    shards = build_shards(settings_for(tmp_path))
    await shards.prepare()
    closed: list[str] = []

    async def close(name: str) -> None:
        closed.append(name)
        if name != "main":
            raise DatabaseUnavailable(f"{name} is away.")

    for name, runtime in shards.runtimes.items():
        runtime.closers = (*runtime.closers, partial(close, name))
    with pytest.raises(DatabaseUnavailable):
        await shards.close()
    assert sorted(closed) == ["east", "main", "west"]
    assert closed[-1] == "main"
