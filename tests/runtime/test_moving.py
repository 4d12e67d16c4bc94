"""A tenant is moved to another shard while it is served."""

from pathlib import Path

from app.runtime.moving import move_tenant
from tests.support.service import Service
from tests.support.sharded import rows, sharded


async def moved(service: Service, tenant: str, shard: str) -> None:
    await move_tenant(service.shards, tenant, shard, lambda _: None, poll_seconds=0, linger_seconds=0)


async def test_a_moved_tenant_finds_all_that_it_has_stored(tmp_path: Path) -> None:
    async with sharded(tmp_path) as service:
        await service.store("a fox in the snow", tenant="acme")
        await service.store("a bear in the wood", tenant="acme")
        await service.store("an owl", tenant="globex")
        before = (await service.shards.of("acme")).backends.shard
        after = "east" if before == "main" else "main"
        await moved(service, "acme", after)
        assert sorted(await service.contents("fox bear", tenant="acme")) == ["a bear in the wood", "a fox in the snow"]
        assert await service.contents("owl", tenant="globex") == ["an owl"]
        left = await rows(service.shards.runtimes[before], "SELECT id FROM long_term_memory WHERE tenant_id = 'acme'")
        assert left == []
