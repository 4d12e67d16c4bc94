"""A run keeps itself: its state and its log say what was done under it, and never stand in the way of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ulid import ULID

from app.domain import limits
from app.domain.audit import ToolCall, sha256_of
from app.domain.episodes import NewRun
from app.domain.errors import ContentTooLarge, NotFound, QuotaExceeded, RunEnded
from app.domain.facts import Fact
from app.domain.memory import NewMemory
from app.domain.messages import NewMessage
from app.domain.preconditions import Precondition
from app.domain.query import Query
from app.domain.undoing import Selected
from app.runtime.recall_log import write_recalls
from app.runtime.tenant_services import TenantServices
from app.services.assembly.assembler import ContextWanted
from app.services.transfer.verify import verify
from tests.services.transfer.corpus import exported, imported
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on, with_changed
from tests.support.memories import expire, memory_rows
from tests.support.scopes import limit
from tests.support.tables import Like, column_of, insert_rows, rows_of

RUN, OTHER, ABSENT = (f"01K2Z4M1V7Q8T3B5N6C7D8E9F{mark}" for mark in "ABC")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as made:
        yield made


def services(bench: Bench, run_id: str | None = None, **changed: Any) -> TenantServices:
    backends = with_changed(bench.backends.of_tenant("acme", ADMINISTRATOR), **changed)
    return TenantServices(backends).of_run(run_id)


async def begin(bench: Bench, run_id: str = RUN, agent_id: str = "bot") -> None:
    await services(bench).episodic.begin(NewRun(agent_id, "support", {"ticket": "secret"}, run_id))


async def state(bench: Bench, run_id: str = RUN) -> Any:
    return (await services(bench).working.state(run_id, only_agent=None)).value


async def log(bench: Bench, run_id: str = RUN) -> list[Any]:
    """Write what was noted, and return the run's log."""
    await write_recalls(bench.backends)
    page = await services(bench).working.log(run_id, limit=100, after=0, only_agent=None)
    return [each.entry for each in page.entries]


async def events(bench: Bench, run_id: str = RUN) -> list[str]:
    return [entry["event"] for entry in await log(bench, run_id)]


async def fill(bench: Bench, run_id: str = RUN) -> None:
    """Leave no room in the log of a run."""
    for size in (limits.LOG_BYTES // 10, 200, 1):
        while True:
            try:
                await services(bench).working.append_log(run_id, ["x" * size], ttl_seconds=3600, only_agent=None)
            except ContentTooLarge:
                break


def call(**fields: Any) -> ToolCall:
    return ToolCall(str(ULID()), "find_order", None, sha256_of("secret"), "ok", "1.5", **fields)


async def test_a_run_that_begins_and_ends_says_so_in_its_state_and_its_log(bench: Bench) -> None:
    await begin(bench)
    assert (await state(bench)).keys() == {"status", "started_at"}
    assert await log(bench) == [{"event": "started", "episodes": 0}]
    run = await services(bench).episodic.complete(RUN, {"refunded": 17})
    ended = await state(bench)
    assert (ended["status"], ended.keys()) == ("completed", {"status", "started_at", "ended_at"})
    assert run.ended_at is not None
    assert (await log(bench))[1:] == [{"event": "ended", "status": "completed", "ms": run.ended_at - run.started_at}]


async def test_a_run_that_fails_says_so(bench: Bench) -> None:
    await begin(bench)
    await services(bench).episodic.fail(RUN, "no order")
    assert (await state(bench))["status"] == "failed"
    assert [entry.get("status") for entry in await log(bench)] == [None, "failed"]


async def test_a_run_that_is_begun_or_ended_again_changes_neither(bench: Bench) -> None:
    await begin(bench)
    await services(bench).working.set_state(RUN, 7, ttl_seconds=60, only=Precondition(), only_agent=None)
    await begin(bench)
    assert await state(bench) == 7
    for _ in range(2):
        await services(bench).episodic.complete(RUN, 1)
    with pytest.raises(RunEnded):
        await services(bench).episodic.fail(RUN, "no")
    await begin(bench)
    assert await events(bench) == ["started", "ended"]


@pytest.mark.parametrize("own", [{"turn": 3, "status": "asking"}, [1], "text", None, 7])
async def test_a_state_that_its_harness_has_set_gets_the_end_where_it_is_an_object(bench: Bench, own: Any) -> None:
    await begin(bench)
    await services(bench).working.set_state(RUN, own, ttl_seconds=60, only=Precondition(), only_agent=None)
    before = await services(bench).working.state(RUN, only_agent=None)
    await services(bench).episodic.complete(RUN, 1)
    after = await services(bench).working.state(RUN, only_agent=None)
    assert after.expires_at == before.expires_at
    if isinstance(own, dict):
        value: Any = after.value
        ended_at = value.pop("ended_at")
        assert ended_at.endswith("Z")
        assert value == {"turn": 3, "status": "completed"}
        assert after.version > before.version
    else:
        assert after == before


async def test_a_state_that_is_a_blob_stays(bench: Bench) -> None:
    await begin(bench)
    large = {"x": "x" * limits.LARGE_VALUE_BYTES}
    await services(bench).working.set_state(RUN, large, ttl_seconds=60, only=Precondition(), only_agent=None)
    await services(bench).episodic.complete(RUN, 1)
    assert await state(bench) == large


async def test_a_state_that_has_expired_is_written_anew_at_the_end(bench: Bench) -> None:
    await begin(bench)
    bench.later(86_401)
    await services(bench).episodic.complete(RUN, 1)
    assert (await state(bench)).keys() == {"status", "started_at", "ended_at"}


async def test_everything_that_names_the_run_leaves_a_row_without_text(bench: Bench) -> None:
    await begin(bench)
    under = services(bench, RUN)
    memory_id = await under.gateway.store("bot", NewMemory("the secret is out"))
    await under.gateway.store("bot", NewMemory("the secret is out"))
    await under.gateway.recall("bot", Query("secret?"))
    await under.ingester.ingest("bot", [NewMessage("user", "a secret word", None)], "s")
    await under.auditor.record(RUN, [call()])
    await under.assembler.assemble(ContextWanted("bot", 100, run_id=RUN))
    fact = await services(bench).semantic.learn("bot", Fact("Ann", "hides", "a secret", learned_from_run_id=RUN))
    entries = await log(bench)
    assert "secret" not in json.dumps(entries)
    told = {entry["event"]: entry for entry in entries}
    assert sorted(entry["event"] for entry in entries) == [
        *("assembled", "ingested", "learned", "recalled", "started", "stored", "stored", "tool_call")
    ]
    assert [entry for entry in entries if entry["event"] == "stored"] == [
        {"event": "stored", "memory_id": memory_id, "known": known} for known in (False, True)
    ]
    assert (told["recalled"]["entries"], told["ingested"]["stored"]) == (1, 1)
    assert (told["tool_call"]["tool"], told["tool_call"]["outcome"], told["tool_call"]["ms"]) == (
        *("find_order", "ok"),
        1.5,
    )
    assert told["assembled"]["pieces"] >= 0
    assert told["learned"] == {"event": "learned", "memory_id": fact.memory_id}


async def test_a_fact_that_another_agent_learns_from_a_run_is_not_in_its_log(bench: Bench) -> None:
    await begin(bench)
    await services(bench).semantic.learn("other", Fact("Ann", "hides", "a secret", learned_from_run_id=RUN))
    assert await events(bench) == ["started"]


async def test_a_tool_call_that_is_sent_again_leaves_no_second_row(bench: Bench) -> None:
    await begin(bench)
    sent = [call(), call()]
    await services(bench).auditor.record(RUN, sent[:1])
    await services(bench).auditor.record(RUN, sent)
    assert await events(bench) == ["started", "tool_call", "tool_call"]


async def test_what_was_noted_of_a_recall_is_written_once_however_often_that_is_tried(bench: Bench) -> None:
    await begin(bench)
    await bench.gateway.recall("bot", Query("x"), run_id=RUN)
    notes = list(bench.backends.recall_log.batch())
    await write_recalls(bench.backends)
    for note in notes:
        bench.backends.recall_log.add(note)
    assert await events(bench) == ["started", "recalled"]


async def test_a_full_log_or_too_many_instances_keep_nothing_from_being_done(bench: Bench) -> None:
    await begin(bench)
    await fill(bench)
    before = await log(bench)
    under = services(bench, RUN)
    await under.gateway.store("bot", NewMemory("text"))
    await under.gateway.recall("bot", Query("text"))
    await under.auditor.record(RUN, [call()])
    assert (await under.episodic.complete(RUN, 1)).status == "completed"
    assert await log(bench) == before
    with pytest.raises(ContentTooLarge):  # the log's own route answers as before
        await under.working.append_log(RUN, ["x" * 1000], ttl_seconds=60, only_agent=None)
    assert (await state(bench))["status"] == "completed"


async def test_a_tenant_that_has_all_its_instances_begins_runs_which_say_nothing(bench: Bench) -> None:
    most = limits.MAX_WORKING_INSTANCES
    row = {"tenant_id": "acme", "agent_id": "bot", "version": 1, "expires_at": 9_000_000_000_000}
    await insert_rows(bench, "working_instance", *(row | {"instance": f"i-{number}"} for number in range(most)))
    await begin(bench)
    assert (await services(bench).episodic.complete(RUN, 1)).status == "completed"
    with pytest.raises(NotFound):
        await state(bench)
    assert await log(bench) == []


async def test_no_quota_of_bytes_refuses_what_a_run_keeps(bench: Bench) -> None:
    await begin(bench, OTHER)
    (of_one,) = await column_of(bench, "agent_runs", "counted_bytes")
    (before,) = await rows_of(bench, "usage", "bytes", tenant_id="acme", agent_id="")
    exactly = int(before["bytes"] or 0) + of_one
    await limit(bench.backends, {"bytes": exactly})
    await begin(bench)
    assert await events(bench) == ["started"]
    with pytest.raises(QuotaExceeded):
        await begin(bench, ABSENT)


@pytest.mark.parametrize("agent_id", ["other", "bot"])
async def test_nothing_is_stored_under_a_run_that_the_agent_does_not_have(bench: Bench, agent_id: str) -> None:
    await begin(bench)
    under = services(bench, RUN if agent_id == "other" else ABSENT)
    for refused in (
        under.gateway.store(agent_id, NewMemory("text")),
        under.profiles.remember(agent_id, "text"),
        under.ingester.ingest(agent_id, [NewMessage("user", "text", None)]),
    ):
        with pytest.raises(NotFound) as error:
            await refused
        assert [each.field for each in error.value.errors] == ["run_id"]
    assert await bench.memories() == 0
    assert await rows_of(bench, "message") == await rows_of(bench, "ingestion") == []


async def test_what_names_another_agents_run_tells_its_log_nothing(bench: Bench) -> None:
    await begin(bench)
    await services(bench, RUN).gateway.recall("other", Query("x"))
    elsewhere = TenantServices(bench.backends.of_tenant("globex", ADMINISTRATOR)).of_run(RUN)
    await elsewhere.gateway.recall("bot", Query("x"))
    assert await events(bench) == ["started"]


async def test_what_was_done_before_an_erasure_is_not_noted_behind_it(bench: Bench) -> None:
    await begin(bench)
    await services(bench, RUN).gateway.recall("bot", Query("x"))
    await bench.gateway.erase("bot")
    await write_recalls(bench.backends)
    (row,) = await rows_of(bench, "working_log", "count(*) AS n", entry=Like("%recalled%"))
    assert row["n"] == 0


async def test_the_undo_of_a_run_takes_what_was_first_stored_under_it(bench: Bench) -> None:
    await begin(bench)
    await begin(bench, OTHER)
    before = await bench.gateway.store("bot", NewMemory("there before"))
    under = services(bench, RUN)
    await under.gateway.store("bot", NewMemory("there before"))
    first = await under.gateway.store("bot", NewMemory("of the run"))
    await services(bench, OTHER).gateway.store("bot", NewMemory("of the run"))
    await under.ingester.ingest("bot", [NewMessage("user", "said in the run", None)], "s")
    await bench.gateway.store("bot", NewMemory("of nobody"))
    undo = services(bench).undo_taught
    for selected, count in ((Selected(run_id=OTHER), 0), (Selected(run_id=RUN), 2)):
        said = await undo.dry_run(selected)
        assert said.memories == count
        assert said.forecast is not None
        assert (first in {each.id for each in said.forecast.going}) is (selected.run_id == RUN)
        assert (await undo.run(selected)).memories == count
    rows = await memory_rows(bench, "content", by="content")
    assert [row["content"] for row in rows] == ["of nobody", "there before"]
    assert before in {row["id"] for row in await memory_rows(bench, "id")}
    (audited,) = await rows_of(bench, "audit", "detail", event="undone", memory_id=first)
    assert json.loads(str(audited["detail"])) == {"run_id": RUN}
    assert (await undo.run(Selected(run_id=RUN))).memories == 0


async def test_a_memory_that_had_expired_is_of_the_run_that_stores_it_again(bench: Bench) -> None:
    await begin(bench)
    await begin(bench, OTHER)
    await services(bench, RUN).gateway.store("bot", NewMemory("text"))
    await expire(bench)
    await services(bench, OTHER).gateway.store("bot", NewMemory("text"))
    assert (await services(bench).undo_taught.dry_run(Selected(run_id=RUN))).memories == 0
    assert (await services(bench).undo_taught.run(Selected(run_id=OTHER))).memories == 1


async def test_the_run_of_a_memory_travels_with_it(bench: Bench, tmp_path: Path, backend: Backend) -> None:
    await begin(bench)
    await services(bench, RUN).gateway.store("bot", NewMemory("text"))
    data = await exported(bench)
    assert verify([data]).flaws == 0
    async with bench_on(tmp_path / "target", backend) as target:
        await imported(target, data)
        assert (await exported(target)).splitlines()[1:] == data.splitlines()[1:]
        assert (await services(target).undo_taught.run(Selected(run_id=RUN))).memories == 1
        await begin(target)  # nothing is said twice of a run that has begun elsewhere
        assert await events(target) == ["started", "stored"]
