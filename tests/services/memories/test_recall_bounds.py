"""What a recall compares of a large import that waits for the index: the newest; and still all that was stored."""

from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.storage.outbox import MAX_IN_BULK, NEWEST_IN_BULK
from tests.support.gateways import Bench, bench_on
from tests.support.memories import memory_ids
from tests.support.tables import Like, set_rows, shift_rows

TOP_K = 50


async def imported(bench: Bench, number: int) -> None:
    """Have so many memories wait for the index, as if an import had queued them."""
    bench.index.error = Unavailable("The index is away.")
    for n in range(number):
        await bench.gateway.store("bot", NewMemory(f"note {n}"))
    await set_rows(bench, "outbox", {"in_bulk": 1})


@pytest.mark.parametrize(
    ("number", "compared", "degraded"),
    [(MAX_IN_BULK, TOP_K, []), (MAX_IN_BULK + 1, NEWEST_IN_BULK, ["pending_bound"])],
)
async def test_of_a_large_import_that_waits_the_newest_are_compared(
    tmp_path: Path, number: int, compared: int, degraded: list[str]
) -> None:
    async with bench_on(tmp_path) as bench:
        await imported(bench, number)
        bench.index.error = None
        found = await bench.gateway.recall("bot", Query("jotting", top_k=TOP_K))
        assert (len(found.entries), found.degraded) == (compared, degraded)


async def test_what_was_stored_is_found_at_once_while_a_large_import_waits(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        await imported(bench, 10)
        for n in range(5):
            await bench.gateway.store("bot", NewMemory(f"jotted down {n}"))
        await shift_rows(bench, "outbox", {"revision": 1_000_000}, in_bulk=1)
        for n in range(MAX_IN_BULK):
            await bench.gateway.store("bot", NewMemory(f"note {10 + n}"))
        for id_ in await memory_ids(bench, content=Like("note %")):
            await set_rows(bench, "outbox", {"in_bulk": 1}, id=id_)
        await shift_rows(bench, "outbox", {"revision": 1_000_000}, in_bulk=1)
        bench.index.error = None
        found = await bench.gateway.recall("bot", Query("jotting", top_k=TOP_K))
        contents = [entry.content for entry in found.entries]
        assert {f"jotted down {n}" for n in range(5)} <= set(contents)
        assert len(contents) == 5 + NEWEST_IN_BULK
        words = await bench.gateway.recall("bot", Query("note 3", top_k=TOP_K))
        assert "note 3" in [entry.content for entry in words.entries]
