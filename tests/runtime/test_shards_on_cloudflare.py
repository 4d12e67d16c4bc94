"""Shards on the stand-in account: D1 databases with indexes of their own, filled while they are served."""

from pathlib import Path

import httpx
import pytest

from app.bootstrap import build_shards, make_shard
from app.domain.shards import MAIN
from app.runtime.doctor import diagnose
from tests.runtime.test_moving import everything, moved
from tests.support.backends import Backend, running_on
from tests.support.memories import memory_rows
from tests.support.service import serving, settings_for
from tests.support.sharded import backdate, placed


async def add_shard(backend: Backend, data_dir: Path, name: str) -> None:
    given = backend.settings(data_dir)
    settings = settings_for(data_dir, **given)
    shards = build_shards(settings)
    try:
        await shards.prepare()
        await shards.add(name, await make_shard(settings, name, None, lambda _: None, poll_seconds=0))
    finally:
        await shards.close()
    await backdate(data_dir, **given)


@pytest.mark.cloudflare
async def test_a_tenant_moves_to_another_database_and_index_and_back(tmp_path: Path) -> None:
    with running_on("cloudflare") as backend:
        await add_shard(backend, tmp_path, "east")
        async with serving(tmp_path, on=backend, indexer_seconds=1) as service:
            await placed(service, "acme", MAIN)
            for number in range(30):
                await service.store(f"note {number} of a fox", tenant="acme")
            await service.store("an owl", tenant="globex")
            main, east = (service.shards.runtimes[name].backends.database for name in (MAIN, "east"))
            before = await everything(main, "acme")
            await moved(service, "acme", "east")
            assert (await everything(east, "acme"))["long_term_memory"] == before["long_term_memory"]
            assert await service.contents("note 7 of a fox", tenant="acme", top_k=1) == ["note 7 of a fox"]
            await service.store("another fox", tenant="acme")
            assert "another fox" in await service.contents("another fox", tenant="acme")
            assert await memory_rows(service.runtime, tenant_id="acme") == []
            await moved(service, "acme", MAIN)
            assert len(await memory_rows(service.runtime, tenant_id="acme")) == 31
            assert await service.contents("owl", tenant="globex") == ["an owl"]


@pytest.mark.cloudflare
async def test_a_shard_s_size_is_what_d1_tells(tmp_path: Path) -> None:
    with running_on("cloudflare") as backend:
        await add_shard(backend, tmp_path, "east")
        async with serving(tmp_path, on=backend) as service:
            figures = {each.name: each.stored_bytes for each in await service.shards.fullness.measure()}
            assert figures.keys() == {MAIN, "east"}
            assert all(size > 100_000 for size in figures.values())
            assert all(each.limited for each in await service.shards.fullness.measure())


@pytest.mark.cloudflare
async def test_a_shard_whose_database_is_gone_leaves_the_service_ready_and_the_doctor_fails(tmp_path: Path) -> None:
    with running_on("cloudflare") as backend:
        await add_shard(backend, tmp_path, "east")
        async with serving(tmp_path, on=backend) as service:
            (east,) = service.shards.places.shards
            given = backend.settings(tmp_path)
            account = f"{given['cloudflare_api_base_url']}/accounts/{given['cloudflare_account_id']}"
            headers = {"Authorization": f"Bearer {given['cloudflare_api_token']}"}
            async with httpx.AsyncClient(headers=headers, trust_env=False, verify=False) as client:
                (await client.delete(f"{account}/d1/database/{east.database_id}")).raise_for_status()
            assert (await service.client.get("/readyz", params={"details": "false"})).status_code == 200
            checks = await diagnose(service.runtime, await service.shards.parts())
            assert [check.name for check in checks if not check.ok] == [
                "database of shard east",
                "data of shard east",
            ]
