"""What is ingested while the data moves to another embedding config goes to both."""

import pytest

from app.domain.messages import NewMessage
from tests.indexing.test_reembed import NEW, OLD, Deployment, copy, deployment, found, now, openai, operated

pytestmark = pytest.mark.thorough

__all__ = ["deployment", "openai"]


async def test_what_is_ingested_during_a_move_is_found_at_every_step(deployment: Deployment) -> None:
    async with deployment.server() as old, deployment.server("openai") as new:
        said: list[str] = []

        async def ingested() -> None:
            for server in (old, new):
                turns = [NewMessage("user", f"note {len(said) + number} of the move") for number in range(3)]
                said.extend(turn.content for turn in turns)
                ended = await server.services("acme").ingester.ingest("bot", turns, f"s{len(said)}")
                assert ended.written == 3
            for server in (old, new):
                for text in said:
                    assert (await found(server.services("acme").gateway, text))[0] == text

        await ingested()
        await operated(new).reembedding.begin(NEW)
        await ingested()
        await copy(new)
        await ingested()
        moving = operated(new).reembedding
        assert (await now(moving)).left_out == 0
        await moving.switch(NEW, force=True)
        await ingested()
        assert await moving.drop(new.backends.index_of) == OLD
        await ingested()
