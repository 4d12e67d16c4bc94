"""Tasks that an older version let expire are freed, unless somebody asked for it or they are due once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from app.domain.claim import MemoryType
from app.domain.errors import ReaderUnavailable
from app.domain.memory import NewMemory
from app.indexing.jobs.backfill import free_tasks
from app.ports.database import Row
from app.services.models.reader import TenantReader
from app.services.profiles.profile import ProfileService
from app.services.turns.shares import Shares
from tests.services.scripted_reader import TASK, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import memory_rows, set_memories
from tests.support.scopes import retain

DAY = 86_400_000
DUTY = "Visitors must sign in"
DUE = ("I must pay by Friday", "I need to wear glasses", "Deliveries must be signed for")
READER = ScriptedReader(of_kinds=dict.fromkeys((*DUE, "Book a table", "Visit the office every Friday"), TASK))


async def expiries(bench: Bench) -> list[Row]:
    return await memory_rows(bench, "content", "expires_at", by="id", agent_id="bot")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


async def stored(
    bench: Bench, content: str, after: int, type_: MemoryType = "task", *, to_the_second: bool = False
) -> int:
    """Store a memory as an older version did, and return when it expires, so long after the store."""
    expires_at = bench.backends.clock() + after
    expires_at -= expires_at % 1000 if to_the_second else 0
    id_ = await bench.gateway.store("bot", NewMemory(content, expires_at=expires_at))
    await set_memories(bench, {"type": type_}, id=id_)
    (row,) = await memory_rows(bench, "expires_at", id=id_)
    return cast("int", row["expires_at"])


def week(bench: Bench) -> int:
    """Return a week from now that ends within a second, as that of the service's clock does."""
    now: int = bench.backends.clock()
    return 7 * DAY + 500 - now % 1000


async def test_a_duty_of_an_older_version_no_longer_expires(bench: Bench) -> None:
    await stored(bench, DUTY, week(bench))
    assert await free_tasks(bench.database, READER) == 1
    assert [row["expires_at"] for row in await expiries(bench)] == [None]
    assert await free_tasks(bench.database, READER) == 0


async def test_what_a_caller_asked_for_or_is_due_once_still_expires(bench: Bench) -> None:
    kept = [
        await stored(bench, "Deliveries must be signed for", 7 * DAY, to_the_second=True),
        await stored(bench, "I need to wear glasses", 3 * DAY + 500),
        await stored(bench, "I must pay by Friday", week(bench)),
        await stored(bench, "I live in Rome", week(bench), "fact"),
    ]
    assert await free_tasks(bench.database, READER) == 0
    assert [row["expires_at"] for row in await expiries(bench)] == kept


@pytest.mark.parametrize("content", ["Book a table", "I need to see the vet by Friday"])
async def test_a_task_without_a_day_is_freed_and_what_the_reader_calls_none(bench: Bench, content: str) -> None:
    await stored(bench, content, week(bench))
    assert await free_tasks(bench.database, READER) == 1


async def test_without_a_reader_all_are_freed(bench: Bench) -> None:
    await stored(bench, "I must pay by Friday", week(bench))
    assert await free_tasks(bench.database, None) == 1


async def test_while_the_reader_is_away_nothing_is_freed(bench: Bench) -> None:
    await stored(bench, "I must pay by Friday", week(bench))
    with pytest.raises(ReaderUnavailable):
        await free_tasks(bench.database, ScriptedReader(error=ReaderUnavailable("It is closed.")))
    assert (await expiries(bench))[0]["expires_at"] is not None


async def test_a_task_of_this_version_is_not_read_again(bench: Bench) -> None:
    content = "I must pay by Friday"
    reader = TenantReader("acme", READER, Shares(8), 0.5)
    backends = with_changed(bench.backends.of_tenant("acme", ADMINISTRATOR), reader=reader)
    assert (await ProfileService(backends).remember("bot", content)).expires_at is not None
    assert await free_tasks(bench.database, None) == 0


async def test_a_duty_that_was_stored_again_is_freed_too(bench: Bench) -> None:
    await stored(bench, DUTY, week(bench))
    bench.later(DAY / 1000)
    assert await free_tasks(bench.database, READER) == 1


async def test_a_freed_duty_is_kept_as_long_as_its_agents_memories(bench: Bench) -> None:
    await retain(bench.backends, 30)
    expiry = await stored(bench, DUTY, week(bench))
    assert await free_tasks(bench.database, READER) == 1
    (row,) = await expiries(bench)
    assert expiry + 22 * DAY < cast("int", row["expires_at"]) < expiry + 24 * DAY


async def test_many_are_freed_batch_by_batch_in_the_order_in_which_they_expire(bench: Bench) -> None:
    for number in range(450):
        await stored(bench, f"Door {number} must be locked", week(bench))
    assert await free_tasks(bench.database, READER) == 450
