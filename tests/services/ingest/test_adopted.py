"""What an ingestion had brought whose process has stopped is made memories by whoever brings it again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.domain.errors import EmbeddingUnavailable
from app.domain.memory import Scope
from app.domain.messages import NewMessage
from app.domain.query import Query
from app.domain.quotas import Defaults, Limits
from app.runtime.ingestions import resume_once
from app.services.ingest import messages as taking
from app.services.ingest.identify import identify
from app.services.ingest.ingester import Ingester
from app.services.ingest.messages import Taken, Taking
from app.storage.ingestions import Ingestion
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import memory_rows
from tests.support.tables import Not, delete_rows, rows_of

TURNS = [NewMessage("user", f"Turn {number} of the budget", 1000 + number) for number in range(20)]


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made
        await made.backends.background.close()


def ingester(bench: Bench, *, seconds: float = 20.0) -> Ingester:
    return Ingester(with_changed(bench.backends, ingest_seconds=seconds).of_tenant("acme", ADMINISTRATOR))


async def staged(bench: Bench, messages: Sequence[NewMessage] = TURNS, holder: str = "one that died") -> Taken:
    """Leave what a process leaves that dies as soon as it has taken messages."""
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    conversation = await identify(messages, "s", backends.clock())
    return await Taking(backends, Scope("acme", "bot"), conversation).take(holder)


def lease_ends(bench: Bench) -> None:
    bench.later(60)


def statuses(ingestion: Ingestion) -> list[str]:
    return [item.status for item in ingestion.items]


async def recalled(bench: Bench) -> set[str]:
    return {entry.content for entry in (await bench.gateway.recall("bot", Query("Turn of the budget", 20))).entries}


async def ended(bench: Bench, operation: Ingestion) -> Ingestion:
    while (found := await ingester(bench).ingestion("bot", str(operation.id))).status == "running":
        await asyncio.sleep(0.02)
    return found


async def test_what_a_dead_process_had_taken_is_made_memories_before_it_is_answered(bench: Bench) -> None:
    await staged(bench)
    lease_ends(bench)
    answer = await ingester(bench).ingest("bot", TURNS, "s")
    assert statuses(answer) == ["stored"] * 20
    assert (answer.written, answer.known, answer.waits) == (20, 0, False)
    assert await bench.memories() == 20
    assert await recalled(bench) == {turn.content for turn in TURNS}
    assert await resume_once(bench.backends) == 1, "what is left of the first ends, too"
    assert await bench.memories() == 20


async def test_what_a_process_had_taken_in_part_is_made_memories_with_the_rest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "RUN_BYTES", 900)
    begun = asyncio.create_task(staged(bench))
    while not await rows_of(bench, "message"):
        await asyncio.sleep(0)
    begun.cancel()
    await asyncio.gather(begun, return_exceptions=True)
    answer = await ingester(bench).ingest("bot", TURNS, "s")
    assert statuses(answer) == ["stored"] * 20
    assert await bench.memories() == 20


async def test_what_a_living_process_writes_waits_and_is_not_called_known(bench: Bench) -> None:
    await staged(bench, TURNS[:2])
    answer = await ingester(bench, seconds=0.3).ingest("bot", TURNS[:3], "s")
    assert (statuses(answer), answer.known) == (["waiting"] * 3, 0)
    assert answer.waits
    lease_ends(bench)
    done = await ended(bench, answer)
    assert (done.status, done.written, done.known) == ("done", 3, 0)
    assert await bench.memories() == 3


async def test_what_another_writes_meanwhile_is_known(bench: Bench) -> None:
    release, embed = asyncio.Event(), bench.embedder.embed

    async def later(*args: object, **named: object) -> object:
        await release.wait()
        return await embed(*args, **named)  # type: ignore[arg-type]

    bench.embedder.embed = later  # type: ignore[method-assign,assignment]
    first = asyncio.create_task(ingester(bench).ingest("bot", TURNS[:2], "s"))
    while not await rows_of(bench, "message"):
        await asyncio.sleep(0.01)
    second = asyncio.create_task(ingester(bench).ingest("bot", TURNS[:3], "s"))
    while len(await rows_of(bench, "message")) < 3:
        await asyncio.sleep(0.01)
    release.set()
    assert statuses(await first) == ["stored"] * 2
    answer = await second
    assert statuses(answer) == ["known"] * 2 + ["stored"]
    assert (answer.known, answer.written) == (2, 1)


async def test_what_another_failed_to_write_is_written_by_whoever_brought_it_too(bench: Bench) -> None:
    await staged(bench, TURNS[:2])
    second = asyncio.create_task(ingester(bench).ingest("bot", TURNS[:3], "s"))
    while len(await rows_of(bench, "message")) < 3:
        await asyncio.sleep(0.01)
    await delete_rows(bench, "message", content=Not("Turn 2 of the budget"))
    lease_ends(bench)
    assert statuses(await second) == ["stored"] * 3
    assert await bench.memories() == 3


async def test_two_who_said_the_same_at_the_same_moment_stay_apart_where_one_of_them_is_taken_over(
    bench: Bench,
) -> None:
    both = [NewMessage("assistant", "Good morning", 1000), NewMessage("user", "Good morning", 1000)]
    await staged(bench, both[1:])
    lease_ends(bench)
    answer = await ingester(bench).ingest("bot", both, "s")
    assert statuses(answer) == ["stored"] * 2
    held = {row["message_id"]: row["metadata"] for row in await memory_rows(bench, "message_id, metadata", by="id")}
    assert held == {answer.items[0].id: '{"speaker":"assistant"}', answer.items[1].id: "{}"}


async def test_what_is_said_twice_waits_twice(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    answer = await ingester(bench).ingest("bot", [TURNS[0], TURNS[0], TURNS[1]], "s")
    assert statuses(answer) == ["waiting"] * 3


async def test_of_a_long_one_the_answer_says_what_is_stored_so_far(bench: Bench) -> None:
    limited = with_changed(bench.backends, quotas=Defaults(agent=Limits(stores_per_minute=5)))
    answer = await Ingester(limited.of_tenant("acme", ADMINISTRATOR)).ingest("bot", TURNS, "s")
    stored = await bench.memories()
    assert stored in {5, 10}  # a minute may just have ended
    assert statuses(answer) == ["stored"] * stored + ["waiting"] * (20 - stored)
