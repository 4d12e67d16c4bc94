"""An ingestion that cannot end at once goes on later, and one that never can says why."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import EmbeddingUnavailable, QuotaExceeded
from app.domain.messages import NewMessage
from app.domain.quotas import Defaults, Limits
from app.runtime.ingestions import resume_once
from app.services.ingest.ingester import Ingester
from app.storage.ingestions import Ingestion
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import memory_column, memory_rows
from tests.support.scopes import revoke
from tests.support.tables import rows_of, set_rows

TURNS = [NewMessage("user", f"Turn {number} of the budget", 1000 + number) for number in range(150)]


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made
        await made.backends.background.close()


def ingester(bench: Bench, *, seconds: float = 20.0, agent: Limits | None = None) -> Ingester:
    backends = with_changed(bench.backends, ingest_seconds=seconds)
    if agent is not None:
        backends = with_changed(backends, quotas=Defaults(agent=agent))
    return Ingester(backends.of_tenant("acme", ADMINISTRATOR))


def due(bench: Bench, seconds: int = 130) -> None:
    """Let the time pass after which an ingestion is abandoned, or goes on."""
    bench.later(seconds)


async def ended(bench: Bench, operation: Ingestion) -> Ingestion:
    while (found := await ingester(bench).ingestion("bot", str(operation.id))).status == "running":
        await asyncio.sleep(0.02)
    return found


async def test_while_the_embedder_is_away_messages_are_kept_and_written_once_it_is_back(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    operation = await ingester(bench).ingest("bot", TURNS, "s")
    assert (operation.status, {item.status for item in operation.items}) == ("running", {"waiting"})
    assert operation.written == 0
    await bench.backends.background.close()
    assert await resume_once(bench.backends) == 0, "it waits"
    due(bench)
    assert await resume_once(bench.backends) == 0
    bench.embedder.error = None
    assert await resume_once(bench.backends) == 0, "the later the older it is"
    due(bench, 2 * 130)
    assert await resume_once(bench.backends) == 1
    done = await ingester(bench).ingestion("bot", str(operation.id))
    assert (done.status, done.written, done.known) == ("done", 150, 0)
    assert await bench.memories() == 150


async def test_an_outage_in_the_middle_keeps_what_was_written(bench: Bench) -> None:
    embed = bench.embedder.embed

    async def once(*args: object, **named: object) -> object:
        if bench.embedder.calls:
            bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
        return await embed(*args, **named)  # type: ignore[arg-type]

    bench.embedder.embed = once  # type: ignore[method-assign,assignment]
    operation = await ingester(bench).ingest("bot", TURNS, "s")
    assert (operation.status, operation.written) == ("running", 100)
    await bench.backends.background.close()
    bench.embedder.embed = embed  # type: ignore[method-assign]
    bench.embedder.error = None
    due(bench)
    assert await resume_once(bench.backends) == 1
    assert await bench.memories() == 150
    assert len({*await memory_column(bench, "message_id")}) == 150


async def test_what_takes_longer_than_the_answer_may_goes_on_after_it(bench: Bench) -> None:
    embed = bench.embedder.embed

    async def slowly(*args: object, **named: object) -> object:
        await asyncio.sleep(0.2)
        return await embed(*args, **named)  # type: ignore[arg-type]

    bench.embedder.embed = slowly  # type: ignore[method-assign,assignment]
    operation = await ingester(bench, seconds=0.05).ingest("bot", TURNS, "s")
    assert (operation.status, {item.status for item in operation.items}) == ("running", {"waiting"})
    assert operation.id is not None
    done = await ended(bench, operation)
    assert (done.status, done.written) == ("done", 150)
    again = await ingester(bench).ingest("bot", TURNS, "s")
    assert {item.status for item in again.items} == {"known"}


async def test_a_process_that_ends_hands_over_at_once(bench: Bench) -> None:
    started = asyncio.Event()

    async def never(*_: object, **__: object) -> object:
        started.set()
        return await asyncio.Event().wait()

    embed = bench.embedder.embed
    bench.embedder.embed = never  # type: ignore[method-assign,assignment]
    asking = asyncio.create_task(ingester(bench, seconds=0.05).ingest("bot", TURNS, "s"))
    await started.wait()
    assert (await asking).status == "running"
    await bench.backends.background.close()
    bench.embedder.embed = embed  # type: ignore[method-assign]
    assert await resume_once(bench.backends) == 1
    assert await bench.memories() == 150


async def test_what_a_resumed_ingestion_writes_is_signed_by_who_brought_it(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    bob = replace(ADMINISTRATOR, credential_id="bob", speakers=frozenset({"bob"}), may_replace=False)
    brought = [NewMessage("user", "Ann: I live in Rome"), NewMessage("user", "Bob: I live in Oslo")]
    await Ingester(bench.backends.of_tenant("acme", bob)).ingest("bot", brought, "s")
    await bench.backends.background.close()
    bench.embedder.error = None
    due(bench)
    assert await resume_once(bench.backends) == 1
    rows = await memory_rows(bench, "written_by", "written_through", "speaker_holds", by="content")
    assert [tuple(row.values()) for row in rows] == [("bob", "http", 0), ("bob", "http", 1)]
    bound = [{"written_by": "bob", "speakers": '["bob"]'}] * 2
    assert await memory_rows(bench, "written_by", "speakers") == bound


async def test_a_quota_in_the_middle_keeps_the_first_and_says_which_failed(bench: Bench) -> None:
    ended_ = await ingester(bench, agent=Limits(memories=120)).ingest("bot", TURNS, "s")
    assert (ended_.status, ended_.failure, ended_.written) == ("failed", "quota_exceeded", 120)
    assert [(item.status, item.code) for item in ended_.items] == [("stored", None)] * 120 + [
        ("failed", "quota_exceeded")
    ] * 30
    assert await bench.memories() == 120
    assert await rows_of(bench, "message") == []
    more = await ingester(bench, agent=Limits(memories=130)).ingest("bot", TURNS, "s")
    assert (more.known, more.written, more.failure) == (120, 10, "quota_exceeded")


async def test_a_quota_of_bytes_holds_too(bench: Bench) -> None:
    size = len(TURNS[0].content) + len("{}")
    ended_ = await ingester(bench, agent=Limits(bytes=size * 5)).ingest("bot", TURNS[:10], "s")
    assert (ended_.failure, ended_.written) == ("quota_exceeded", 5)


async def test_where_there_is_room_for_nothing_it_is_refused_before_anything_is_embedded(bench: Bench) -> None:
    await ingester(bench, agent=Limits(memories=3)).ingest("bot", TURNS[:3], "s")
    bench.embedder.calls.clear()
    with pytest.raises(QuotaExceeded):
        await ingester(bench, agent=Limits(memories=3)).ingest("bot", TURNS, "s")
    assert bench.embedder.calls == []
    assert await rows_of(bench, "message") == []
    known = await ingester(bench, agent=Limits(memories=3)).ingest("bot", TURNS[:3], "s")
    assert known.known == 3, "what is there already needs no room"


async def test_messages_count_as_stores_and_what_a_minute_does_not_hold_waits_for_the_next(bench: Bench) -> None:
    operation = await ingester(bench, agent=Limits(stores_per_minute=20)).ingest("bot", TURNS[:50], "s")
    assert operation.status == "running"
    assert operation.written in {20, 40}  # a minute may just have ended
    assert len([text for texts, _ in bench.embedder.calls for text in texts]) == operation.written
    await bench.backends.background.close()
    for _ in range(3):
        due(bench)
        await resume_once(with_changed(bench.backends, quotas=Defaults(agent=Limits(stores_per_minute=20))))
    assert await bench.memories() == 50


async def test_what_becomes_impossible_meanwhile_fails_and_leaves_nothing_staged(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    operation = await ingester(bench).ingest("bot", TURNS, "s")
    await bench.backends.background.close()
    bench.embedder.error = None
    await revoke(bench.backends)
    due(bench)
    assert await resume_once(bench.backends) == 1
    failed = await ingester(bench).ingestion("bot", str(operation.id))
    assert (failed.status, failed.failure, failed.written) == ("failed", "unauthenticated", 0)
    assert await rows_of(bench, "message") == []


async def test_a_tenant_has_at_most_sixteen_that_are_not_finished(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    for number in range(16):
        assert (await ingester(bench).ingest("bot", TURNS[:1], f"s{number}")).status == "running"
    with pytest.raises(QuotaExceeded, match="16 ingestions") as refused:
        await ingester(bench).ingest("bot", TURNS[:1], "one more")
    assert refused.value.retry_after is not None
    other = Ingester(bench.backends.of_tenant("globex", ADMINISTRATOR))
    assert (await other.ingest("bot", TURNS[:1], "s")).status == "running"
    await bench.backends.background.close()
    bench.embedder.error = None
    due(bench)
    assert await resume_once(bench.backends) == 17
    assert (await ingester(bench).ingest("bot", TURNS[:1], "one more")).status == "done"


async def test_an_agent_that_is_erased_meanwhile_keeps_nothing(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    await ingester(bench).ingest("bot", TURNS, "s")
    await bench.backends.background.close()
    await bench.gateway.erase("bot")
    bench.embedder.error = None
    due(bench)
    await resume_once(bench.backends)
    await bench.quiet()
    for table in ("message", "ingestion", "long_term_memory"):
        assert await rows_of(bench, table) == []


async def test_a_conversation_that_another_one_works_on_waits_for_it(bench: Bench) -> None:
    bench.embedder.error = EmbeddingUnavailable("The embedder is away.")
    first = await ingester(bench).ingest("bot", TURNS[:3], "s")
    await bench.backends.background.close()
    await set_rows(bench, "ingestion", {"lease_holder": "somebody", "lease_expires_at": bench.clock() + 15_000})
    bench.embedder.error = None
    second = await ingester(bench, seconds=0.3).ingest("bot", TURNS[3:5], "s")
    assert second.status == "running"
    assert (await ingester(bench).ingest("bot", TURNS[5:7], "t")).status == "done", "another session goes on"
    due(bench)
    assert (await ended(bench, second)).written == 2
    assert await resume_once(bench.backends) == 1
    assert (await ended(bench, first)).written == 3
