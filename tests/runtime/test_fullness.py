"""How full the shards are is measured once for all who want to know it."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.bootstrap import make_shard
from app.domain.errors import UpstreamTimeout
from tests.support.service import Service, serving, settings_for
from tests.support.sharded import add_shards, backdate, placed, sharded
from tests.support.tables import insert_rows


class Sized:
    """Tells the size of a database as slowly as another task lets it, and counts how often it is asked."""

    def __init__(self, *, answers: bool = True) -> None:
        self.asked = 0
        self._answers = answers

    async def stored_bytes(self) -> int:
        self.asked += 1
        await asyncio.sleep(0)
        if not self._answers:
            raise UpstreamTimeout("D1 did not answer in time.")
        return 1_000


async def test_many_new_tenants_at_once_have_the_shards_measured_once(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    main = Sized()
    async with serving(tmp_path, change=lambda given: replace(given, stored_bytes=main.stored_bytes)) as service:
        await asyncio.gather(*(service.store("a fox", tenant=f"tenant-{number}") for number in range(20)))
        assert main.asked == 1


async def test_a_measurement_that_fails_fails_for_all_who_wait_and_the_next_one_measures(tmp_path: Path) -> None:
    main = Sized(answers=False)
    async with serving(tmp_path, change=lambda given: replace(given, stored_bytes=main.stored_bytes)) as service:
        measure = service.shards.fullness.measure
        told = await asyncio.gather(*(measure() for _ in range(20)), return_exceptions=True)
        assert {type(each) for each in told} == {UpstreamTimeout}
        assert main.asked == 1
        with pytest.raises(UpstreamTimeout):
            await measure()
        assert main.asked == 2


async def test_who_stops_waiting_for_a_measurement_stops_it_for_nobody_else(tmp_path: Path) -> None:
    main = Sized()
    async with serving(tmp_path, change=lambda given: replace(given, stored_bytes=main.stored_bytes)) as service:
        first, other = (asyncio.create_task(service.shards.fullness.measure()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert [each.stored_bytes for each in await other] == [1_000]
        assert main.asked == 1


async def _begun(service: Service, tenant: str, *, minutes: int) -> None:
    """Have a move of a tenant to the east be one that was last worked on so many minutes ago."""
    move = {"tenant_id": tenant, "source": "main", "target": "east", "epoch": 1, "mover": "a mover"}
    await insert_rows(service, "tenant_moves", move | {"leased_until": service.clock() + 60_000 * (1 - minutes)})


async def test_readiness_tells_of_moves_that_nobody_goes_on_with_and_names_no_tenant(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await _begun(service, "acme", minutes=61)
        await _begun(service, "globex", minutes=180)
        await _begun(service, "initech", minutes=1)
        await service.shards.fullness.measure()
        ready = await service.client.get("/readyz", params={"details": "false"})
        assert ready.status_code == 200
        (part,) = [part for part in ready.json()["parts"] if part["name"] == "moves between shards"]
        assert "2 moves" in part["detail"]
        assert "180 minutes" in part["detail"]
        assert not any(tenant in ready.text for tenant in ("acme", "globex", "initech"))


async def _told(service: Service, part: str) -> str:
    """Wait until readiness has a part of this name; return what it says."""
    async with asyncio.timeout(20):
        while True:
            ready = await service.client.get("/readyz", params={"details": "false"})
            assert ready.status_code == 200
            for each in ready.json()["parts"]:
                if each["name"] == part:
                    return str(each["detail"])
            await asyncio.sleep(0.01)


@pytest.fixture
def measured_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a process that starts measure at once, and not again for an hour."""
    monkeypatch.setattr("app.runtime.fullness.FIRST_SECONDS", 0.0)


@pytest.mark.usefixtures("measured_at_once")
async def test_a_process_that_starts_tells_of_moves_left_undone_unasked(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    async with serving(tmp_path) as service:
        await _begun(service, "acme", minutes=61)
    async with serving(tmp_path) as service:
        assert "61 minutes" in await _told(service, "moves between shards")


@pytest.mark.usefixtures("measured_at_once")
async def test_a_process_that_starts_with_one_shard_tells_unasked_that_it_is_nearly_full(tmp_path: Path) -> None:
    async def eight_gigabytes() -> int:
        return 8_000_000_000

    async with serving(
        tmp_path, change=lambda given: replace(given, stored_bytes=eight_gigabytes, limited=True)
    ) as service:
        assert "8.0 of 10 GB" in await _told(service, "size of shard main")
        told = (await service.client.get("/metrics")).text
        assert 'memory_gateway_shard_bytes{shard="main"} 8e+09' in told


async def test_a_file_is_never_nearly_full(tmp_path: Path) -> None:
    async def nine_gigabytes() -> int:
        return 9_000_000_000

    async with serving(tmp_path, change=lambda given: replace(given, stored_bytes=nine_gigabytes)) as service:
        (main,) = await service.shards.fullness.measure()
        assert (main.stored_bytes, main.warning) == (9_000_000_000, None)


async def _added(service: Service, data_dir: Path, name: str) -> None:
    """Add a shard, and let the process hear how many there are by now."""
    settings = settings_for(data_dir)
    await service.shards.add(name, await make_shard(settings, name, None, lambda _: None, poll_seconds=0))
    service.shards.places.seen(len(service.shards.places.shards) + 1)


async def test_a_shard_that_is_added_takes_new_tenants_though_the_others_were_just_measured(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        for tenant, shard in (("acme", "main"), ("globex", "east")):
            await placed(service, tenant, shard)
            await service.store("a fox", tenant=tenant)
        await service.shards.fullness.measure()
        await _added(service, tmp_path, "west")
        await backdate(tmp_path)
        await service.store("a fox", tenant="initech")
        assert (await service.shards.of("initech")).backends.shard == "west"


async def test_a_shard_takes_new_tenants_as_soon_as_every_process_knows_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runtime.fullness.SETTLED_MS", 1_000)
    async with serving(tmp_path) as service:
        await service.store("a fox", tenant="acme")
        await _added(service, tmp_path, "east")
        await service.shards.fullness.measure()
        async with asyncio.timeout(20):
            number, shard = 0, "main"
            while shard == "main":
                await asyncio.sleep(0.05)
                number += 1
                shard = (await service.shards.of(f"tenant-{number}")).backends.shard


async def test_readiness_tells_nothing_of_moves_that_go_on(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await _begun(service, "acme", minutes=1)
        await service.shards.fullness.measure()
        ready = await service.client.get("/readyz", params={"details": "false"})
        assert "moves between shards" not in [part["name"] for part in ready.json()["parts"]]


@pytest.fixture
def measured_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no measurement twice."""
    monkeypatch.setattr("app.runtime.fullness.REUSE_SECONDS", -1.0)


class NearlyFull:
    """Tells of nine gigabytes, while it answers."""

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers

    async def stored_bytes(self) -> int:
        if not self.answers:
            raise UpstreamTimeout("D1 did not answer in time.")
        return 9_000_000_000


def _sized_by(service: Service, shard: str, size: NearlyFull) -> None:
    """Have a shard's database tell this size."""
    runtime = service.shards.runtimes[shard]
    runtime.backends = replace(runtime.backends, stored_bytes=size.stored_bytes, limited=True)


@pytest.mark.usefixtures("measured_each_time")
async def test_a_shard_that_does_not_answer_is_not_measured_and_stays_as_full_as_it_was(tmp_path: Path) -> None:
    east = NearlyFull()
    async with sharded(tmp_path) as service:
        _sized_by(service, "east", east)
        fullness = service.shards.fullness
        await fullness.measure()
        assert fullness.unmeasured == []
        east.answers = False
        assert [each.name for each in await fullness.measure()] == ["main"]
        assert fullness.unmeasured == ["east"]
        assert "9.0 of 10 GB" in await _told(service, "size of shard east")
        shown = (await service.client.get("/metrics")).text
        assert 'memory_gateway_shard_bytes{shard="east"} 9e+09' in shown


@pytest.mark.usefixtures("measured_each_time")
async def test_a_shard_that_does_not_answer_takes_no_new_tenant(tmp_path: Path) -> None:
    east = NearlyFull(answers=False)
    async with sharded(tmp_path) as service:
        _sized_by(service, "east", east)
        for number in range(3):
            await service.store("a fox", tenant=f"tenant-{number}")
            assert (await service.shards.of(f"tenant-{number}")).backends.shard == "main"


async def test_a_measurement_that_lacks_a_shard_is_made_again_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    east = NearlyFull(answers=False)
    async with sharded(tmp_path) as service:
        _sized_by(service, "east", east)
        monkeypatch.setattr("app.runtime.fullness.FIRST_SECONDS", 0.0)
        monkeypatch.setattr("app.runtime.fullness.REUSE_SECONDS", 0.01)
        measuring = asyncio.create_task(service.shards.fullness.keep_measuring())
        try:
            async with asyncio.timeout(20):
                while not service.shards.fullness.unmeasured:
                    await asyncio.sleep(0.01)
            east.answers = True
            assert "9.0 of 10 GB" in await _told(service, "size of shard east")
        finally:
            measuring.cancel()
