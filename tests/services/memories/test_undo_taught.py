"""What a run or a session has taught is taken back, as the dry run has said, and nothing else."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.author import Author
from app.domain.errors import DatabaseUnavailable, InvalidRequest, NotFound
from app.domain.json_types import Json
from app.domain.memory import NewMemory
from app.domain.undoing import Selected
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.undo_taught import UndoTaught
from app.storage import sessions, taught, undo_forecast
from tests.services.scripted_reader import REPLACES, ScriptedReader
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.ingestions import message
from tests.support.learned import SESSION, compare, learn, say
from tests.support.memories import memory_ids, memory_rows
from tests.support.scopes import begin_run
from tests.support.tables import ANY, Asked, count_of, rows_of
from tests.support.told import told

RUN, OTHER_RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB"
DAY = 86_400_000
THEN = 1_700_000_000_000
HOLDING: dict[str, Asked] = {"superseded_at": None, "forgotten_at": None}
SUPERSEDED: dict[str, Asked] = {"superseded_at": ANY, "forgotten_at": None}


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        await begin_run(made.backends, RUN)
        yield made


def undo(bench: Bench, tenant_id: str = "acme") -> UndoTaught:
    return UndoTaught(bench.backends.of_tenant(tenant_id, ADMINISTRATOR))


def fact(run_id: str = RUN, content: str = "") -> dict[str, Json]:
    """Return the metadata of what a run has taught: what a text tells, or something that is no whole fact."""
    said = told(content).get("fact", {"subject": "user", "confidence": 1})
    assert isinstance(said, dict)
    return {"fact": {**said, "learned_from_run_id": run_id}}


async def teach(
    bench: Bench, content: str, *, run_id: str = RUN, agent: str = "bot", tenant: str = "acme", at: int | None = None
) -> str:
    memory = NewMemory(content, fact(run_id, content), occurred_at=at)
    return str(await bench.tenant(tenant).store(agent, memory))


async def ids(bench: Bench, **where: Asked) -> set[str]:
    return {*await memory_ids(bench, by="id", **where)}


async def as_said(bench: Bench, selected: Selected) -> None:
    """Undo it, and check that the dry run had said so, and says then that nothing is left."""
    service = undo(bench)
    before, out = await ids(bench), await ids(bench, **SUPERSEDED)
    said = await service.dry_run(selected)
    assert await ids(bench) == before
    done = await service.run(selected)
    assert (said.memories, said.changed, said.messages) == (done.memories, done.changed, done.messages)
    assert not done.more
    assert said.forecast is not None
    assert not said.forecast.at_least
    gone = before - await ids(bench)
    assert {each.id for each in said.forecast.going} == gone
    assert {each.memory_id for each in said.forecast.holding} == out & await ids(bench, **HOLDING)
    again = await service.dry_run(selected)
    assert (again.memories, again.changed, again.messages) == (0, 0, 0)


async def test_what_a_run_taught_goes_and_what_it_had_corrected_holds_again(bench: Bench) -> None:
    rome = await bench.gateway.store("bot", NewMemory("I live in Rome", told("I live in Rome")))
    await teach(bench, "I moved to Oslo")
    await teach(bench, "The cat sleeps", agent="other")
    await teach(bench, "I work as a baker", run_id=OTHER_RUN)
    await teach(bench, "I moved to Oslo", tenant="globex")
    await bench.quiet()
    said = await undo(bench).dry_run(Selected(run_id=RUN))
    assert said.forecast is not None
    assert (said.memories, said.forecast.agents, said.forecast.agent_ids) == (2, 2, ["bot", "other"])
    assert [(each.memory_id, each.content) for each in said.forecast.holding] == [(rome, "I live in Rome")]
    await as_said(bench, Selected(run_id=RUN))
    assert await bench.contents("Where do I live?") == ["I live in Rome", "I work as a baker"]
    rows = await memory_rows(bench, "tenant_id", content="I moved to Oslo")
    assert [row["tenant_id"] for row in rows] == ["globex"]
    assert await bench.queued() == {"delete": 2}
    await bench.quiet()
    assert await bench.queued() == {}


async def test_each_memory_has_its_row_in_the_audit_which_says_of_what_it_was(bench: Bench) -> None:
    id_ = await teach(bench, "The cat sleeps")
    said = await bench.gateway.store("bot", NewMemory("The dog sleeps", session_id="s1"))
    await undo(bench).run(Selected(run_id=RUN))
    await undo(bench).run(Selected(agent_id="bot", session_id="s1"))
    rows = await rows_of(bench, "audit", "memory_id", "detail", by="number", event="undone")
    assert [(row["memory_id"], json.loads(str(row["detail"]))) for row in rows] == [
        (id_, {"run_id": RUN}),
        (said, {"session_id": "s1"}),
    ]


async def test_a_memory_of_others_that_the_run_only_confirmed_stays_without_the_fact(bench: Bench) -> None:
    id_ = await bench.gateway.store("bot", NewMemory("The cat sleeps", {"kind": "pet"}))
    adds = LongTermMemoryGateway(bench.backends.of_tenant("acme", Author("adds", "http")))
    await adds.store("bot", NewMemory("The cat sleeps", fact()))
    assert (await undo(bench).dry_run(Selected(run_id=RUN))).changed == 1
    await as_said(bench, Selected(run_id=RUN))
    (row,) = await memory_rows(bench, "id", "metadata")
    assert (row["id"], json.loads(str(row["metadata"]))) == (id_, {"kind": "pet"})


async def test_what_was_learned_of_messages_goes_with_them_and_comes_back_with_them(bench: Bench) -> None:
    first = await say(bench.backends, "I live in Rome", THEN)
    await learn(bench.backends, "The user is at home in Rome.", [first], THEN + 1)
    await teach(bench, "I moved to Oslo", at=THEN + DAY)
    await compare(bench, ScriptedReader({("I live in Rome", "I moved to Oslo"): REPLACES}))
    assert len(await ids(bench, **SUPERSEDED)) == 2
    await as_said(bench, Selected(run_id=RUN))
    assert len(await ids(bench, **HOLDING)) == 2
    selected = Selected(agent_id="bot", session_id=SESSION)
    said = await undo(bench).dry_run(selected)
    assert said.forecast is not None
    assert said.memories == 2
    await as_said(bench, selected)
    assert await ids(bench) == set()


async def test_of_a_credential_the_dry_run_says_what_its_undo_does(bench: Bench) -> None:
    stolen = LongTermMemoryGateway(bench.backends.of_tenant("acme", Author("stolen", "http")))
    await bench.gateway.store("bot", NewMemory("I live in Rome", told("I live in Rome")))
    await bench.gateway.store("bot", NewMemory("The cat sleeps"))
    await stolen.store("bot", NewMemory("I moved to Oslo", told("I moved to Oslo")))
    await stolen.store("bot", NewMemory("The cat sleeps", {"bad": 1}))
    await as_said(bench, Selected(credential_id="stolen"))
    assert await bench.contents("Where do I live?", top_k=1) == ["I live in Rome"]
    with pytest.raises(InvalidRequest, match="its own"):
        await undo(bench).dry_run(Selected(credential_id="administrator"))


async def test_a_run_that_is_not_known_is_not_found_and_one_without_memories_teaches_nothing(bench: Bench) -> None:
    for what in (undo(bench).dry_run, undo(bench).run):
        with pytest.raises(NotFound):
            await what(Selected(run_id=OTHER_RUN))
    with pytest.raises(NotFound):
        await undo(bench, "globex").run(Selected(run_id=RUN))
    for what in (undo(bench).dry_run, undo(bench).run):
        assert (await what(Selected(run_id=RUN))).memories == 0
        assert (await what(Selected(agent_id="bot", session_id="none"))).memories == 0
    assert await count_of(bench, "agent_runs") == 1  # what happened, has happened


async def test_messages_of_a_session_that_are_no_memories_yet_are_counted(bench: Bench) -> None:
    await message(bench, f"{1:032x}", session_id="s1")
    assert (await undo(bench).dry_run(Selected(agent_id="bot", session_id="s1"))).messages == 1
    await as_said(bench, Selected(agent_id="bot", session_id="s1"))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"run_id": RUN, "credential_id": "a"},
        {"session_id": "s"},
        {"agent_id": "bot"},
        {"run_id": RUN, "agent_id": "bot"},
        {"run_id": "no ULID"},
    ],
)
def test_exactly_one_thing_is_selected(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        Selected(**fields)


async def test_an_undo_of_more_than_one_call_says_that_there_is_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.memories.undo_taught.MAX_CHUNKS", 1)
    for name in ("_DELETE_PROPOSALS", "_QUEUE_DELETES", "_AUDIT", "_DELETE", "_RESTORE"):
        monkeypatch.setattr(taught, name, getattr(taught, name).replace("LIMIT 500", "LIMIT 2"))
    for number in range(3):
        await teach(bench, f"note {number}")
    found = [await undo(bench).run(Selected(run_id=RUN)) for _ in range(2)]
    assert [(each.memories, each.more) for each in found] == [(2, True), (1, False)]


async def test_a_dry_run_counts_so_many_and_says_that_there_are_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_forecast, "MAX_COUNTED", 2)
    monkeypatch.setattr("app.services.memories.undo_taught.MAX_COUNTED", 2)
    for number in range(4):
        await teach(bench, f"note {number}")
    said = await undo(bench).dry_run(Selected(run_id=RUN))
    assert said.forecast is not None
    assert (said.memories, said.forecast.at_least) == (3, True)


async def test_keys_that_were_not_all_read_are_left_out_and_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.gateway.store("bot", NewMemory("I live in Rome", told("I live in Rome")))
    await teach(bench, "I moved to Oslo")
    monkeypatch.setattr(undo_forecast, "_MAX_CLAIMS", 2)
    said = await undo(bench).dry_run(Selected(run_id=RUN))
    assert said.forecast is not None
    assert (said.forecast.holds_again, said.forecast.at_least) == (0, True)


@pytest.mark.parametrize("selected", [Selected(run_id=RUN), Selected(agent_id="bot", session_id="s1")])
async def test_an_undo_that_is_cut_between_its_runs_goes_on_where_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, selected: Selected
) -> None:
    for name in ("_DELETE_PROPOSALS", "_QUEUE_DELETES", "_AUDIT", "_DELETE", "_RESTORE"):
        for module in (taught, sessions):
            text = getattr(module, name, "")
            monkeypatch.setattr(module, name, text.replace("LIMIT 500", "LIMIT 1"), raising=False)
    for number in range(4):
        await bench.gateway.store("bot", NewMemory(f"note {number}", fact(), session_id="s1"))
    before = await ids(bench)
    rome = await bench.gateway.store("bot", NewMemory("I live in Rome", told("I live in Rome")))
    service, kills = undo(bench), 0
    run = bench.database.run

    async def cut(statements: Any) -> Any:
        nonlocal kills
        kills += 1
        if kills % 2 == 0:
            raise DatabaseUnavailable("The database is away.")
        return await run(statements)

    monkeypatch.setattr(bench.database, "run", cut)
    left = len(before)
    while left > 1:
        with pytest.raises(DatabaseUnavailable):
            await service.run(selected)
        now = len(await ids(bench)) - 1
        assert now == left - 1
        left = now
    done = await service.run(selected)
    assert (done.memories, done.more) == (1, False)
    assert await ids(bench) == {str(rome)}
    rows = await rows_of(bench, "audit", "memory_id", event="undone")
    assert sorted(str(row["memory_id"]) for row in rows) == sorted(before)
