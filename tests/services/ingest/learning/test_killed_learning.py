"""Learning may be killed at any call it makes, one of the model too, and two may run at once: they end alike."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import pytest

from app.domain.errors import NotFound
from app.domain.messages import NewMessage
from app.indexing.jobs.backfill import backfill_claims
from app.ports.language_model import LanguageModel, ModelMessage, Schema, Spent, Stage
from app.runtime.ingestions import resume_once
from app.services.ingest import learn
from app.services.ingest.ingester import Ingester
from app.services.learning import classifying, verifying
from tests.services.believing_reader import BelievingReader
from tests.simulation import clock
from tests.simulation.intercept import Between, PortCall
from tests.simulation.killer import KilledError, Killer, Made, Moment, moments
from tests.simulation.settled import flaws, left
from tests.simulation.weather import peace
from tests.simulation.world import Replica, World, world
from tests.support import generation
from tests.support.gateways import ADMINISTRATOR
from tests.support.scripted_model import HONEST, ScriptedModel, classes, extract, lines_of, memories_of, memory
from tests.support.tables import ANY

pytestmark = pytest.mark.thorough

T = TypeVar("T")

_SEED = 1
SAID_AT = 1_000_000
CONVERSATION = [
    NewMessage("user", "I live in Rome near the river", SAID_AT),
    NewMessage("assistant", "Noted.", SAID_AT + 1000),
    NewMessage("user", "I like tea", SAID_AT + 2000),
    *(NewMessage("user", f"I need number{number}", SAID_AT + 3000 + number) for number in range(6)),
    NewMessage("user", "I live in Oslo near the sea", SAID_AT + 9000),
]
MEMORIES = (
    *("long_term_memory", "content", "metadata", "session_id", "occurred_at", "superseded_at", "message_id", "type"),
    "learned",
)
CLAIMS = ("claim", "key", "value", "happened_at", "opens", "superseded_at")
PROPOSALS = ("proposal", "id", "content", "message_ids", "type", "topic", "state", "corrected_from", "reason")
PASSES = ("pass", "number", "kind", "message_ids", "state", "failure")


def _details(text: str) -> Any:
    """Propose what the full pass does of its tea, and what no message says."""
    said = [(number, words) for number, _, before, words in lines_of(text) if not before and "tea" in words]
    return {"memories": [*(memory("The user like tea", number) for number, _ in said), memory("Price 4711", 1)]}


def _verified(text: str) -> Any:
    """Correct one, drop one, pass the others."""
    said = memories_of(text)
    correct = [number for number, content in said if "number1" in content]
    drop = [number for number, content in said if "number2" in content]
    return {
        "passed": [number for number, _ in said if number not in {*correct, *drop}],
        "corrected": [{"memory": each, "check": "object", "statement": "I need number1"} for each in correct],
        "dropped": [{"memory": each, "check": "supported", "reason": "It was a joke."} for each in drop],
    }


def script() -> ScriptedModel:
    answers: dict[Stage, Callable[[str], Any]] = {
        **HONEST,
        "extract": extract,
        "detail": _details,
        "verify": _verified,
        "classify": partial(classes, {"live in": "user_home"}),
    }
    return ScriptedModel(answers, seconds=0.05)


@dataclass
class Intercepted:
    """Implements ``LanguageModel``, with somebody in between who sees every call."""

    inner: LanguageModel
    between: Between

    def name(self, stage: Stage) -> str:
        return self.inner.name(stage)

    async def complete(
        self,
        messages: Sequence[ModelMessage],
        schema: Schema[T],
        *,
        stage: Stage,
        max_tokens: int,
        affinity: str,
        seconds: float | None = None,
        spent: Callable[[Spent], None] | None = None,
    ) -> T:
        async def effect() -> T:
            return await self.inner.complete(
                messages,
                schema,
                stage=stage,
                max_tokens=max_tokens,
                affinity=affinity,
                seconds=seconds,
                spent=spent,
            )

        return await self.between.pass_on(PortCall(f"model.{stage}"), effect)

    async def ping(self) -> None:
        await self.inner.ping()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a short conversation verified, classified and learned in several calls."""
    monkeypatch.setattr(verifying, "AT_ONCE", 4)
    monkeypatch.setattr(classifying, "AT_ONCE", 4)
    monkeypatch.setattr(learn, "_AT_ONCE", 3)


def _with_model(replica: Replica, model: LanguageModel | None = None) -> Replica:
    replica.backends = replace(replica.backends, model=model or script(), reader=BelievingReader())
    return replica


def _ingester(replica: Replica) -> Ingester:
    return Ingester(replica.backends.of_tenant("acme", ADMINISTRATOR))


async def _learned(made: World, replica: Replica, killer: Killer | None = None) -> None:
    """Ingest, and wait until nothing is left to be learned, or the process is dead."""
    ingestion = await _ingester(replica).ingest("bot", CONVERSATION, "s")
    for _ in range(1000):
        if killer is not None and killer.fired:
            return
        if ingestion.id is None or not made.file.rows_of("ingestion", finished_at=None):
            return
        await asyncio.sleep(0.5)
    pytest.fail("It does not end.")


async def _resumed(made: World, replica: Replica) -> None:
    await backfill_claims(replica.backends.database)
    for _ in range(6):
        await resume_once(replica.backends)
        await asyncio.sleep(100)
    assert made.file.rows_of("message") == made.file.rows_of("ingestion", finished_at=None) == []
    assert made.file.rows_of("ingestion", failure=ANY) == []


async def _ended(made: World) -> list[tuple[object, ...]]:
    await peace(made)
    assert {kind for kind, _ in flaws(made)} <= {"misplaced"}  # which knows what facts state, and no topics
    assert left(made) == []
    memories = made.file.rows_of(*MEMORIES, by="occurred_at, content")
    return [*memories, *made.file.rows_of(*CLAIMS, by="key, happened_at")]


def _told(made: World) -> list[tuple[object, ...]]:
    return [*made.file.rows_of(*PROPOSALS, by="id"), *made.file.rows_of(*PASSES, by="number")]


async def _live(
    moment: Moment | None = None,
) -> tuple[list[Made], list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Ingest with a victim that may be killed; have another process finish what it began."""
    async with world("late", _SEED) as made:
        first = made.replica()
        await first.gateway("globex").erase("nobody")  # the database is in use
        made.replicas.clear()
        killer = Killer(made.file, moment)
        victim = _with_model(made.replica(killer), Intercepted(script(), killer))
        try:
            await _learned(made, victim, killer)
        except KilledError:
            assert killer.fired
        with suppress(KilledError):
            await victim.backends.background.close()
        made.replicas.clear()
        successor = _with_model(made.replica())
        successor.start()
        await _resumed(made, successor)
        await _learned(made, successor)
        return killer.calls, await _ended(made), _told(made)


def test_learning_that_is_killed_at_any_call_ends_as_one_that_was_not() -> None:
    calls, whole, told = clock.run(_live())
    assert {"model.extract", "model.detail", "model.verify", "model.classify"} <= {call.port for call in calls}
    learned = [row for row in whole if row[-1] is not None and len(row) == 8]
    assert len(learned) == 7  # of nine, one was dropped and one known; the tea was proposed twice
    every = list(moments(calls))
    begun = next(number for number, call in enumerate(calls, start=1) if call.port == "model.extract")
    for number, moment in enumerate(every):
        if generation.LONG or number % 7 == 0:  # calls are begun and ended in turn, so both are among them
            _, ended, told_then = clock.run(_live(moment))
            assert ended == whole, str(moment)
            if moment.number >= begun:  # before that, what had come may be planned for by itself
                assert told_then == told, str(moment)


def test_two_at_once_learn_what_one_does() -> None:
    async def both(seconds: float) -> list[tuple[object, ...]]:
        async with world("late", _SEED) as made:
            one, other = _with_model(made.replica()), _with_model(made.replica())
            one.start()

            async def later() -> None:
                await asyncio.sleep(seconds)
                await _learned(made, other)

            await asyncio.gather(_learned(made, one), later())
            return await _ended(made)

    ends = [clock.run(both(seconds)) for seconds in (0, 0.01, 0.1, 0.5, 100)]
    assert all(ended == ends[0] for ended in ends)


def test_a_session_that_is_learned_of_takes_its_next_messages_at_once() -> None:
    async def live() -> None:
        async with world("late", _SEED) as made:
            slow = script()
            slow.seconds = 300.0
            replica = _with_model(made.replica(), slow)
            ingester = _ingester(replica)
            await ingester.ingest("bot", CONVERSATION[:3], "s")
            began = clock.now()
            second = await ingester.ingest("bot", CONVERSATION[3:], "s")
            assert clock.now() - began < 15  # and one call of the model takes 300
            assert {item.status for item in second.items} == {"stored"}
            assert len(made.file.rows_of("ingestion", finished_at=None)) == 2
            await asyncio.sleep(10_000)
            assert made.file.rows_of("ingestion", finished_at=None) == []

    clock.run(live())


@pytest.mark.parametrize("seconds", [0.01, 0.06, 0.12, 0.18, 0.24, 0.3, 0.4])
@pytest.mark.parametrize("what", ["session", "agent"])
def test_nothing_is_learned_of_what_is_deleted_meanwhile(what: str, seconds: float) -> None:
    async def live() -> None:
        async with world("late", _SEED) as made:
            replica = _with_model(made.replica())
            replica.start()
            ingestion = await _ingester(replica).ingest("bot", CONVERSATION, "s")
            await asyncio.sleep(seconds)
            if what == "session":
                while (await replica.profile("acme").delete_session("bot", "s")).more:
                    pass
            else:
                await replica.gateway("acme").erase("bot")
            await asyncio.sleep(1000)
            assert made.file.rows_of("long_term_memory") == made.file.rows_of("proposal") == []
            assert made.file.rows_of("ingestion", finished_at=None) == []
            if what == "agent":
                with pytest.raises(NotFound):
                    await _ingester(replica).ingestion("bot", str(ingestion.id))

    clock.run(live())
