"""An export makes room for other requests between a few of its lines."""

import asyncio
from itertools import pairwise

from app.services.transfer.export import Export
from tests.services.transfer.corpus import file_of, imported, numbered
from tests.support.gateways import Bench

MEMORIES = 300
_MOST_AT_ONCE = 20


async def test_an_export_lets_others_go_on_after_each_few_of_its_lines(bench: Bench) -> None:
    await imported(bench, file_of(numbered(MEMORIES)))
    export = Export(bench.backends.of_tenant("acme"), vectors=True)
    seen = [0]

    async def look() -> None:
        while True:
            seen.append(export.total.memories)
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    async for _ in export.chunks():
        pass
    looking.cancel()
    assert export.total.memories == MEMORIES
    assert max(after - before for before, after in pairwise(seen)) <= _MOST_AT_ONCE
