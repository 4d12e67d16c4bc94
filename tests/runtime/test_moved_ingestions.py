"""An ingestion goes on in the shard to which its tenant has moved, and nowhere else."""

import asyncio
from pathlib import Path

import pytest

from app.domain.errors import EmbeddingUnavailable
from app.domain.shards import MAIN
from app.runtime.ingestions import resume_once
from app.storage import ingestions
from tests.runtime.test_moving import moved
from tests.support.sharded import placed, sharded

pytestmark = pytest.mark.thorough

EAST = "east"
MESSAGES = {"messages": [{"role": "user", "content": "an owl in the wood"}]}


async def test_an_ingestion_that_waits_goes_on_where_its_tenant_has_moved_and_ends_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise EmbeddingUnavailable("The embedder is away.")

    monkeypatch.setattr(ingestions, "_MIN_PAUSE_MS", 1_000)
    async with sharded(tmp_path) as service:
        main, east = (service.shards.runtimes[name].backends for name in (MAIN, EAST))
        await placed(service, "acme", MAIN)
        await service.store("a fox in the snow", tenant="acme")
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(type(main.embedder), "embed", away)
            assert (await service.post("/profiles/bot/ingest", MESSAGES, tenant="acme")).json()["waiting"] == 1
        await moved(service, "acme", EAST)
        async with asyncio.timeout(10):
            while any(task.get_name() == "ingestion" for task in asyncio.all_tasks()):
                await asyncio.sleep(0.1)
        assert await resume_once(east) == 1
        assert sorted(await service.contents("owl fox", tenant="acme")) == ["a fox in the snow", "an owl in the wood"]


async def test_the_messages_of_a_tenant_that_moves_before_they_are_memories_are_answered_as_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedding, go_on = asyncio.Event(), asyncio.Event()
    async with sharded(tmp_path) as service:
        main = service.shards.runtimes[MAIN].backends
        embed = main.embedder.embed

        async def later(_: object, *args: object, **named: object) -> object:
            embedding.set()
            await go_on.wait()
            return await embed(*args, **named)  # type: ignore[arg-type]

        await placed(service, "acme", MAIN)
        await service.store("a fox in the snow", tenant="acme")
        monkeypatch.setattr(type(main.embedder), "embed", later)
        sent = asyncio.create_task(service.post("/profiles/bot/ingest", MESSAGES, tenant="acme"))
        await embedding.wait()
        await moved(service, "acme", EAST)
        monkeypatch.undo()
        go_on.set()
        answer = await sent
        assert (answer.status_code, answer.json()["waiting"]) == (202, 1)
