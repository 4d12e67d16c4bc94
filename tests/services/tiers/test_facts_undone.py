"""What a run has taught by facts is taken back, as the dry run has said, and what it had superseded holds again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.author import Author
from app.domain.facts import Fact
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.domain.undoing import Selected
from app.ports.database import Row
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo_taught import UndoTaught
from app.services.tiers.facts import SemanticMemory
from tests.services.memories.test_undo_taught import OTHER_RUN, RUN, as_said
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.memories import memory_rows
from tests.support.scopes import begin_run
from tests.support.tables import Like, rows_of
from tests.support.told import told

DAY = 86_400_000
USUAL = Author("usual", "http")


async def types(bench: Bench) -> list[Row]:
    return await memory_rows(bench, "id", "type", "superseded_at", by="id")


async def claims(bench: Bench) -> list[Row]:
    return await rows_of(
        bench, "claim", "key", "value", "memory_id", "superseded_by", "superseded_at", by="key, happened_at"
    )


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        await begin_run(made.backends, RUN)
        await begin_run(made.backends, OTHER_RUN)
        yield made


def tier(bench: Bench, author: Author = ADMINISTRATOR) -> SemanticMemory:
    return SemanticMemory(bench.backends.of_tenant("acme", author))


async def objects(bench: Bench, agent_id: str = "bot") -> list[str]:
    return [each.fact.object for each in (await tier(bench).facts(agent_id)).items]


async def test_what_a_run_learned_is_undone_and_what_it_had_superseded_holds_again(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("I live in Rome", told("I live in Rome"), occurred_at=DAY))
    await tier(bench).learn("bot", Fact("api", "port", "8080", single=True), occurred_at=DAY)
    await tier(bench).learn("bot", Fact("api", "port", "7070", 0.2, single=True), occurred_at=2 * DAY)
    for agent_id in ("bot", "support"):
        for parts in (("user", "lives in", "Oslo"), ("api", "port", "9090")):
            fact = Fact(*parts, learned_from_run_id=RUN, single=True)
            await tier(bench).learn(agent_id, fact, occurred_at=3 * DAY)
    assert sorted(await objects(bench)) == ["9090", "Oslo"]
    await as_said(bench, Selected(run_id=RUN))
    assert sorted(await objects(bench)) == ["8080", "Rome"]
    assert await objects(bench, "support") == []
    (entry,) = (await tier(bench).recall("bot", Query("Where does the user live?", 1))).entries
    assert entry.entry.content == "I live in Rome"


async def test_a_fact_that_two_runs_have_told_goes_with_the_first_of_them(bench: Bench) -> None:
    for run_id in (RUN, OTHER_RUN):
        await tier(bench, USUAL).learn("bot", Fact("user", "lives in", "Oslo", learned_from_run_id=run_id, single=True))
    await as_said(bench, Selected(run_id=OTHER_RUN))
    assert await objects(bench) == ["Oslo"]
    await as_said(bench, Selected(run_id=RUN))
    assert await objects(bench) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("api owner - Bob", Fact("api", "owner", "Bob", learned_from_run_id=RUN, single=True)),
        ("Perhaps api owner - Bob", Fact("api", "owner", "Bob", 0.1, learned_from_run_id=RUN, single=True)),
        ("api owner - Bob", Fact("api", "owner", "Bob", learned_from_run_id=RUN)),
    ],
)
async def test_words_that_others_had_stored_before_wait_for_a_reader_again(bench: Bench, text: str, fact: Fact) -> None:
    await tier(bench).learn("bot", Fact("api", "owner", "Al", single=True), occurred_at=DAY)
    usual = LongTermMemoryGateway(bench.backends.of_tenant("acme", USUAL))
    memory_id = await usual.store("bot", NewMemory(text, occurred_at=2 * DAY))
    before = await claims(bench), await types(bench)
    await tier(bench, USUAL).learn("bot", fact, occurred_at=2 * DAY)
    await tier(bench).learn("bot", Fact("api", "owner", "Cy", single=True), occurred_at=3 * DAY)
    for days in (1, 2):  # the second time, what the run had taught was superseded by something that is gone
        done = await UndoTaught(bench.backends.of_tenant("acme", ADMINISTRATOR)).run(Selected(run_id=RUN))
        assert (done.memories, done.changed) == (0, 2 - days)
    for row in await memory_rows(bench, "id", content=Like("%Cy")):
        await bench.gateway.delete("bot", str(row["id"]))
    assert await objects(bench) == ["Al"]
    assert (await claims(bench), await types(bench)) == before
    (row,) = await memory_rows(bench, "metadata", "statements_read", id=memory_id)
    assert (row["metadata"], row["statements_read"]) == ("{}", 0)


@pytest.mark.parametrize("later", [None, "Cy"])
async def test_a_fact_that_a_credential_had_made_of_the_words_of_others_replaces_nothing_once_that_is_undone(
    bench: Bench, later: str | None
) -> None:
    await tier(bench).learn("bot", Fact("api", "owner", "Al", single=True), occurred_at=DAY)
    usual = LongTermMemoryGateway(bench.backends.of_tenant("acme", USUAL))
    memory_id = await usual.store("bot", NewMemory("api owner - Bob", {"from": "mail"}, occurred_at=2 * DAY))
    before = await claims(bench)
    stolen = tier(bench, Author("stolen", "http"))
    await stolen.learn("bot", Fact("api", "owner", "Bob", single=True), occurred_at=2 * DAY)
    assert await objects(bench) == ["Bob"]
    if later is not None:
        await stolen.learn("bot", Fact("api", "owner", later, single=True), occurred_at=3 * DAY)
    done = await UndoTaught(bench.backends.of_tenant("acme", ADMINISTRATOR)).run(Selected(credential_id="stolen"))
    assert (done.memories, done.changed) == (int(later is not None), 1)
    assert await objects(bench) == ["Al"]
    assert await claims(bench) == before
    (row,) = await memory_rows(bench, id=memory_id)
    assert (row["metadata"], row["statements_read"], row["superseded_at"]) == ('{"from":"mail"}', 0, None)
