"""An ingestion may be killed at any call it makes, and two may run at once: they end alike."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import pytest

from app.domain.messages import NewMessage
from app.indexing.jobs.backfill import backfill_claims
from app.runtime.ingestions import resume_once
from app.services.ingest import messages as taking
from app.services.ingest.ingester import Ingester
from app.storage import lease_rule
from app.storage import messages as staged
from tests.services.compared import compare, of_one_thing
from tests.services.scripted_reader import ScriptedReader
from tests.simulation import clock
from tests.simulation.intercept import Effect, PortCall
from tests.simulation.killer import KilledError, Killer, Made, Moment, moments
from tests.simulation.settled import flaws, left
from tests.simulation.weather import calm
from tests.simulation.world import Kind, Replica, World, world
from tests.support import generation
from tests.support.gateways import ADMINISTRATOR
from tests.support.tables import ANY

pytestmark = pytest.mark.thorough

T = TypeVar("T")

_SEED = 1
_CALLS = {"database.run", "embedder.embed", "index.upsert"}
CONVERSATION = [
    NewMessage("user", "I live in Rome", 1_000_000),
    NewMessage("user", "That is settled.", 1_000_000),
    NewMessage("assistant", "That is settled.", 1_000_000),
    NewMessage("user", "I moved to Oslo", 3_000_000),
    *(NewMessage("user" if n % 2 else "assistant", f"Turn {n} of many", 2_000_000 + n * 1000) for n in range(9)),
]
ENDS = ("content", "metadata", "session_id", "occurred_at", "superseded_at", "message_id", "type")


@pytest.fixture(autouse=True)
def _small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a short conversation taken and written in several runs."""
    monkeypatch.setattr(taking, "RUN_BYTES", 900)
    monkeypatch.setattr(staged, "BATCH_MESSAGES", 5)


async def _ingest(replica: Replica, messages: Sequence[NewMessage] = CONVERSATION) -> str:
    ingester = Ingester(replica.backends.of_tenant("acme", ADMINISTRATOR))
    ended = await ingester.ingest("bot", messages, "s")
    return ended.status


async def _resumed(made: World, replica: Replica) -> None:
    """Let another process look for what was left undone, as it does when it starts and every few minutes."""
    await backfill_claims(replica.backends.database)
    for _ in range(6):
        await resume_once(replica.backends)
        await asyncio.sleep(100)
    assert made.file.rows_of("message") == made.file.rows_of("ingestion", finished_at=None) == []
    assert made.file.rows_of("ingestion", failure=ANY) == []


def what_is_known(made: World) -> list[tuple[object, ...]]:
    """Return the memories, and which of them are related how, by their messages."""
    messages = dict(made.file.rows_of("long_term_memory", "id", "message_id"))
    relations = made.file.rows_of("relation", "older_id", "newer_id", "name", "effect")
    related = sorted((messages[older], messages[newer], *found) for older, newer, *found in relations)
    return [*made.file.rows_of("long_term_memory", *ENDS, by="message_id"), *related]


async def _ended(made: World) -> list[tuple[object, ...]]:
    await calm(made)
    assert flaws(made) == set()
    assert left(made) == []
    await compare(made.replica().backends, ScriptedReader(of_one_thing("I live in Rome", "I moved to Oslo")))
    return what_is_known(made)


async def _live(
    kind: Kind, moment: Moment | None = None, *, again: bool = True
) -> tuple[list[Made], list[tuple[object, ...]]]:
    """Ingest with a victim that may be killed; have another process find everything as it must be."""
    async with world(kind, _SEED) as made:
        first = made.replica()
        await first.gateway("globex").erase("nobody")  # the database is in use
        made.replicas.clear()
        killer = Killer(made.file, moment)
        victim = made.replica(killer)
        try:
            await _ingest(victim)
        except KilledError:
            assert killer.fired
        await victim.backends.background.close()
        made.replicas.clear()
        successor = made.replica()
        successor.start()
        await _resumed(made, successor)
        if again:
            assert await _ingest(successor) == "done"
        return killer.calls, await _ended(made)


@pytest.mark.parametrize("kind", ["late", "embedded"])
@pytest.mark.parametrize("again", [True, False])
def test_an_ingestion_killed_at_any_call_ends_as_one_that_was_not(kind: Kind, *, again: bool) -> None:
    calls, whole = clock.run(_live(kind))
    assert {call.port for call in calls} >= _CALLS
    assert len(whole) == len(CONVERSATION) + 1  # and what a reader says of two
    every = list(moments(calls))
    for number, moment in enumerate(every):
        if generation.LONG or number % 7 == 2 * (kind == "late") + again:
            _, ended = clock.run(_live(kind, moment, again=again))
            # Killed before all was taken, what has come is there, and bringing it again brings the rest.
            if again:
                assert ended == whole, str(moment)
            else:
                assert _said(ended) <= _said(whole), str(moment)


async def _asked_at_once(kind: Kind, moment: Moment, seconds: float) -> None:
    """Kill an ingestion, and have another process bring the same so many seconds after."""
    async with world(kind, _SEED) as made:
        killer = Killer(made.file, moment)
        victim = made.replica(killer)
        with suppress(KilledError):
            await _ingest(victim)
            await victim.backends.background.close()
        made.replicas.clear()
        successor = made.replica()
        await asyncio.sleep(seconds)
        began = clock.now()
        ingester = Ingester(successor.backends.of_tenant("acme", ADMINISTRATOR))
        answer = await ingester.ingest("bot", CONVERSATION, "s")
        assert clock.now() - began <= successor.backends.limits.ingest_seconds + 2
        there = {*made.file.column_of("long_term_memory", "message_id")}
        assert {item.id for item in answer.items if item.status in {"stored", "known"}} <= there, str(moment)
        assert answer.waits or len(there) == len(CONVERSATION), str(moment)
        assert not answer.waits or seconds < lease_rule.SECONDS, str(moment)
        while answer.status == "running":
            await asyncio.sleep(5)
            answer = await ingester.ingestion("bot", str(answer.id))
        assert len(made.file.rows_of("long_term_memory")) == len(CONVERSATION), str(moment)


@pytest.mark.parametrize("kind", ["late", "embedded"])
@pytest.mark.parametrize("seconds", [0.0, 40.0])
def test_what_is_answered_after_a_kill_is_there(kind: Kind, seconds: float) -> None:
    calls, _ = clock.run(_live(kind, again=False))
    for number, moment in enumerate(moments(calls)):
        if generation.LONG or number % 5 == (kind == "late") + 2 * bool(seconds):
            clock.run(_asked_at_once(kind, moment, seconds))


def _said(ended: list[tuple[object, ...]]) -> set[object]:
    return {row[0] for row in ended}


def test_two_at_once_end_as_one_does() -> None:
    async def both(seconds: float) -> list[tuple[object, ...]]:
        async with world("late", _SEED) as made:
            one, other = made.replica(), made.replica()
            one.start()

            async def later() -> str:
                await asyncio.sleep(seconds)
                return await _ingest(other)

            assert list(await asyncio.gather(_ingest(one), later())) == ["done", "done"]
            counts = made.file.rows_of("ingestion", "written", "messages - known")
            assert [sum(each) for each in zip(*counts, strict=True)] == [len(CONVERSATION)] * 2
            return await _ended(made)

    ends = [clock.run(both(seconds)) for seconds in (0, 0.01, 0.03, 0.1, 0.3, 100)]
    assert all(ended == ends[0] for ended in ends)
    assert len(ends[0]) == len(CONVERSATION) + 1


class Slow:
    """Has every text wait to be embedded for longer than a lease holds."""

    seconds = 300.0

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        if call.name == "embedder.embed":
            await asyncio.sleep(self.seconds)
        return await effect()


def test_whoever_still_works_keeps_the_lease_and_answers_with_the_operation_meanwhile() -> None:
    async def live() -> None:
        async with world("late", _SEED) as made:
            one, other = made.replica(Slow()), made.replica()
            began = clock.now()
            assert await _ingest(one) == "running"
            assert clock.now() - began == pytest.approx(20, abs=2)
            for _ in range(7):
                await asyncio.sleep(40)
                assert await resume_once(other.backends) == 0
                assert made.file.rows_of("long_term_memory") == []
            await asyncio.sleep(5 * Slow.seconds)
            assert made.file.column_of("ingestion", "written", finished_at=ANY) == [len(CONVERSATION)]
            assert made.file.column_of("audit", "event") == ["ingested"] * len(CONVERSATION)

    clock.run(live())
