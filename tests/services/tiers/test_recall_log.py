"""What a recall leaves behind: a row, written later, without query or content; lost by a kill alone, or counted."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from app.domain.audit import RecallNote
from app.domain.errors import EmbeddingUnavailable, Unavailable, UpstreamTimeout
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.observability.audit_metrics import AuditMetrics
from app.ports.database import Row
from app.runtime.recall_log import write_recalls
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.profile import ProfileService
from app.services.tenant import recall_log
from app.services.tenant.recall_log import RecallLog
from app.services.tiers.audit import Auditor
from tests.services.tiers.test_audit import RUN, begin
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.periodic import periodically
from tests.support.tables import rows_of


async def read(bench: Bench) -> list[Row]:
    return await rows_of(bench, "recall_log", by="recorded_at, id")


@pytest.fixture
async def bench(tmp_path: Path, backend: Backend) -> AsyncIterator[Bench]:
    async with bench_on(tmp_path, backend) as bench:
        yield bench


async def rows(bench: Bench) -> list[Row]:
    """Write what was noted, and read all of it."""
    await write_recalls(bench.backends)
    return await read(bench)


def detail_of(row: Row) -> dict[str, Any]:
    detail: dict[str, Any] = json.loads(str(row["detail"]))
    return detail


async def test_a_recall_leaves_the_ids_that_it_returned_and_what_it_cost_and_no_text(bench: Bench) -> None:
    id_ = await bench.gateway.store("bot", NewMemory("the launch code is secret"))
    await bench.quiet()
    for _ in range(2):
        await bench.gateway.recall("bot", Query("launch code?"), run_id=RUN)
    first, second = await rows(bench)
    assert (first["tenant_id"], first["agent_id"], first["run_id"], first["written_by"]) == (
        *("acme", "bot", RUN),
        "administrator",
    )
    told = detail_of(first)
    assert (told["entries"], told["through"], told["degraded"]) == ([id_], "http", [])
    assert {"lexical", "vector"} <= set(told["channels"])
    assert told["embedding"] == {"config": "hashing/ngrams-v1/384", "cached": False}
    assert told["cost"] == {"tokens": None, "characters": len("launch code?"), "index_queries": 1}
    assert told["ms"] > 0
    cached = detail_of(second)
    assert (cached["embedding"]["cached"], cached["cost"]["characters"]) == (True, 0)
    assert "launch" not in str(first) + str(second)


async def test_a_recall_asks_the_database_nothing_more_and_an_empty_log_is_not_written(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    before = len(bench.database.runs)
    await bench.gateway.recall("bot", Query("text"))
    assert len(bench.database.runs) == before + 1
    await write_recalls(bench.backends)
    assert len(bench.database.runs) == before + 2
    await write_recalls(bench.backends)
    assert len(bench.database.runs) == before + 2


async def test_what_was_degraded_is_noted_and_a_recall_that_failed_leaves_nothing(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    bench.embedder.error = EmbeddingUnavailable("away")
    await bench.gateway.recall("bot", Query("text"))
    bench.embedder.error = None
    bench.database.error = Unavailable("away")
    with pytest.raises(Unavailable):
        await bench.gateway.recall("bot", Query("text"))
    bench.database.error = None
    (row,) = await rows(bench)
    told = detail_of(row)
    assert (told["degraded"], told["embedding"]["cached"]) == (["embedder_unavailable"], None)


async def test_a_profile_s_recall_notes_the_candidates_of_its_answer(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    profiles = ProfileService(backends)
    await profiles.remember("bot", "I live in Oslo")
    answer = await profiles.recall("bot", "Where do I live?")
    nothing = await profiles.recall("bot", "zebra quantum")
    found, unknown = await rows(bench)
    assert detail_of(found)["entries"] == [each.id for each in answer.entries]
    assert detail_of(unknown)["entries"] == [each.id for each in nothing.entries]


async def test_a_replay_has_the_recalls_that_named_the_run_and_none_of_another_tenant_or_for_another_agent(
    bench: Bench,
) -> None:
    await begin(bench)
    for tenant, agent in (("acme", "bot"), ("acme", "other"), ("globex", "bot")):
        await bench.tenant(tenant).recall(agent, Query("text"), run_id=RUN)
    await write_recalls(bench.backends)
    auditor = Auditor(bench.backends.of_tenant("acme", ADMINISTRATOR))
    agents = [step.what.agent_id for step in (await auditor.replay(RUN, limit=9)).steps]  # type: ignore[union-attr]
    assert agents == ["bot", "bot", "other"]
    own = await auditor.replay(RUN, limit=9, only_agent="bot")
    told = [(step.kind, step.what.agent_id) for step in own.steps]  # type: ignore[union-attr]
    assert told == [("started", "bot"), ("recall", "bot")]


async def test_a_recall_from_before_an_erasure_leaves_no_row_behind_it_and_one_from_after_it_does(bench: Bench) -> None:
    await bench.gateway.recall("bot", Query("before"))
    await bench.gateway.recall("other", Query("beside"))
    erasure = await bench.gateway.erase("bot")
    assert erasure.status == "done"
    await write_recalls(bench.backends)
    assert [row["agent_id"] for row in await read(bench)] == ["other"]
    bench.later(9)
    await bench.gateway.recall("bot", Query("after"))
    assert [row["agent_id"] for row in await rows(bench)] == ["other", "bot"]


async def test_while_an_erasure_is_under_way_no_row_of_its_scope_is_written(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    assert (await bench.gateway.erase(None)).status == "running"
    await bench.gateway.recall("bot", Query("text"))
    await bench.tenant("globex").recall("bot", Query("text"))
    assert [row["tenant_id"] for row in await rows(bench)] == ["globex"]


async def test_with_the_setting_off_recalls_leave_no_row_and_are_counted(tmp_path: Path) -> None:
    async with bench_on(tmp_path, audit_recalls=False) as made:
        await made.gateway.recall("bot", Query("text"))
        assert len(made.backends.recall_log) == 0
        assert await rows(made) == []


async def test_a_batch_that_the_database_refuses_for_good_is_counted_and_keeps_no_other_out(bench: Bench) -> None:
    registry = CollectorRegistry()
    log = RecallLog(AuditMetrics(registry))
    backends = replace(bench.backends, recall_log=log)
    log.add(RecallNote("acme", "bot", "http", run_id="no ULID"))
    await write_recalls(backends)
    assert (len(log), registry.get_sample_value("memory_gateway_recalls_dropped_total")) == (0, 1.0)
    log.add(RecallNote("acme", "bot", "http"))
    await write_recalls(backends)
    assert len(await read(bench)) == 1


async def test_the_loop_writes_what_was_noted_and_goes_on_after_an_outage(bench: Bench) -> None:
    async with periodically(bench.backends, "recall log"):
        bench.backends.recall_log.add(RecallNote("acme", "bot", "http"))
        bench.database.error = Unavailable("away")
        while not bench.database.runs:
            await asyncio.sleep(0.001)
        bench.database.error = None
        while len(bench.backends.recall_log):
            await asyncio.sleep(0.001)
    assert len(await read(bench)) == 1


async def test_more_than_a_batch_is_written_in_batches(bench: Bench) -> None:
    for _ in range(recall_log.BATCH + 1):
        bench.backends.recall_log.add(RecallNote("acme", "bot", "http"))
    before = len(bench.database.runs)
    assert len(await rows(bench)) == recall_log.BATCH + 1
    assert len(bench.database.runs) == before + 2


acts = st.lists(st.sampled_from(["acme", "globex", "write", "outage", "lost answer"]), max_size=30)


@settings(deadline=None, max_examples=examples(60))
@example(acts=["acme", "acme", "outage", "acme", "globex", "outage", "acme"], most=1)
@given(acts=acts, most=st.integers(1, 8))
def test_every_recall_leaves_one_row_or_is_counted_whatever_fails(
    acts: list[str], most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def run() -> None:
        async with bench_on(tmp_path_factory.mktemp("law")) as made:
            log = RecallLog(most=most)
            backends = replace(made.backends, recall_log=log)
            noted: Counter[str] = Counter()
            for act in [*acts, "write"]:
                if act in {"acme", "globex"}:
                    noted[act] += 1
                    log.add(RecallNote(act, "bot", "http", entries=[str(noted[act])]))
                    assert len(log) <= most + 2  # and what tells of each tenant's overflow
                elif act == "write":
                    await write_recalls(backends)
                    assert len(log) == 0
                else:
                    await failing(made, backends, act)
            kept = await read(made)
            told: Counter[str] = Counter()
            for row in kept:
                told[str(row["tenant_id"])] += int(detail_of(row).get("dropped", 1))
            assert told == noted
            entries = [(row["tenant_id"], *each["entries"]) for row in kept if "entries" in (each := detail_of(row))]
            assert len(set(entries)) == len(entries)

    asyncio.run(run())


async def failing(made: Bench, backends: Any, act: str) -> None:
    inner = made.database.run

    async def run(statements: Any) -> Any:
        if act == "lost answer":
            await inner(statements)
        raise UpstreamTimeout("No answer.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.database, "run", run)
        if len(backends.recall_log):
            with pytest.raises(UpstreamTimeout):
                await write_recalls(backends)


def test_metrics_tell_the_first_names_apart_and_name_tenants_only_where_that_is_set() -> None:
    for tenants in (False, True):
        registry = CollectorRegistry()
        metrics = AuditMetrics(registry, tenants=tenants)
        for number in range(230):
            metrics.recall(RecallNote(f"t{number}", "bot", "http", channels=["lexical"]))
        assert registry.get_sample_value("memory_gateway_recalls_total", {"through": "http"}) == 230
        assert registry.get_sample_value("memory_gateway_recalls_by_channel_total", {"channel": "lexical"}) == 230
        of_first = registry.get_sample_value("memory_gateway_tenant_cost_total", {"tenant": "t0", "kind": "recalls"})
        others = registry.get_sample_value("memory_gateway_tenant_cost_total", {"tenant": "other", "kind": "recalls"})
        assert (of_first, others) == ((1, 130) if tenants else (None, None))


async def test_a_gateway_notes_its_own_tenant_alone(bench: Bench) -> None:
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    await LongTermMemoryGateway(backends).recall("bot", Query("text"))
    with pytest.raises(ValueError, match="another tenant"):
        backends.audit.recalled(RecallNote("globex", "bot", "http"))
