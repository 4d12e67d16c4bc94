"""What was exported and imported elsewhere is exported there as the very same bytes, whatever happens on the way."""

import asyncio
import base64
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema_rs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings

from app.domain.errors import DatabaseUnavailable, RateLimited, Unavailable
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.transfer.export import Export
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.storage.tiers import rows as tier_rows
from tests.services.transfer.corpus import SCHEMA, corpora, exported, file_of, imported, in_chunks, numbered
from tests.support.backends import Backend
from tests.support.gateways import Bench, bench_on, with_changed
from tests.support.generation import examples
from tests.support.memories import set_memories

FLOAT16 = 2**-11
"""The most by which a number of a vector in a queue differs from itself (ADR 0008)."""
VALIDATOR = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))


async def fill(bench: Bench, memories: int = 7) -> None:
    for agent in ("bot", "other"):
        for n in range(memories):
            memory = NewMemory(
                f"{agent} {n} é\U0001f600", {"n": n, "b": {"a": [1.5, None]}}, "s", 1_700_000_000_000 + n
            )
            await bench.gateway.store(agent, memory)
    await bench.tenant("neighbour").store("bot", NewMemory("of another tenant"))


@pytest.mark.parametrize("vectors", [False, True])
async def test_an_export_of_what_an_export_brought_is_the_same_to_the_byte(
    bench: Bench, target: Bench, *, vectors: bool
) -> None:
    await fill(bench)
    data = await exported(bench, vectors=vectors)
    target.embedder.calls.clear()
    *_, summary = await imported(target, data)
    assert (summary["imported"], summary["end"]) == (14, "holds")
    assert bool(target.embedder.calls) is not vectors
    assert await exported(target, vectors=vectors) == data
    found = await target.gateway.recall("bot", Query("bot 3 é\U0001f600", top_k=1))
    assert [entry.content for entry in found.entries] == ["bot 3 é\U0001f600"]
    await target.quiet()
    assert await target.queued() == {}
    if vectors and not target.index.visible_at_once:
        return  # the index was sent the queued copy of a vector, by which it tells how far it is
    assert await exported(target, vectors=vectors) == data


async def test_a_vector_that_was_sent_again_is_exported_as_it_was_queued(bench: Bench, target: Bench) -> None:
    await fill(bench)
    data = await exported(bench, vectors=True)
    await imported(target, data)
    await target.quiet()
    before, after = (vectors_of(lines) for lines in (data, await exported(target, vectors=True)))
    assert before.keys() == after.keys()
    for id_, vector in before.items():
        assert np.abs(vector - after[id_]).max() <= FLOAT16


def vectors_of(lines: bytes) -> dict[str, npt.NDArray[np.float32]]:
    memories = [line for line in map(json.loads, lines.splitlines()) if line["type"] == "memory"]
    return {memory["id"]: np.frombuffer(base64.b64decode(memory["vector"]), "<f4") for memory in memories}


async def test_every_line_of_an_export_is_as_the_schema_says(bench: Bench) -> None:
    await fill(bench)
    for options in ({}, {"vectors": True}, {"agent_id": "bot"}):
        lines = (await exported(bench, **options)).splitlines()
        assert [json.loads(line)["type"] for line in lines] == ["manifest", *["memory"] * (len(lines) - 2), "end"]
        for line in lines:
            VALIDATOR.validate(json.loads(line))


async def test_two_exports_of_the_same_memories_are_the_same(bench: Bench) -> None:
    await fill(bench)
    assert await exported(bench, vectors=True) == await exported(bench, vectors=True)


async def test_an_export_in_many_pages_is_the_same_as_in_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await imported(bench, file_of([*numbered(23), *numbered(3, start=50, agent_id="other")]))
    whole = await exported(bench, vectors=True)
    monkeypatch.setattr(tier_rows, "PAGE_ROWS", 5)
    assert await exported(bench, vectors=True) == whole
    monkeypatch.setattr(tier_rows, "PAGE_BYTES", 30)
    bench.database.runs.clear()
    assert await exported(bench, vectors=True) == whole
    assert len(bench.database.runs) > 8


async def test_an_export_of_one_agent_has_nothing_of_another(bench: Bench) -> None:
    await fill(bench)
    manifest, *memories, end = map(json.loads, (await exported(bench, agent_id="bot")).splitlines())
    assert (manifest["agent_id"], manifest["memories"], end["memories"]) == ("bot", 7, 7)
    assert {memory["agent_id"] for memory in memories} == {"bot"}
    hashes = "".join(memory["hash"] for memory in memories)
    assert end["hash"] == hashlib.sha256(hashes.encode()).hexdigest()


async def test_what_has_expired_is_left_out_and_not_taken_in(bench: Bench) -> None:
    data = file_of(
        [
            *numbered(2),
            Record(agent_id="bot", content="gone", metadata={}, id=f"01K{77:023d}", created_at=1, expires_at=2),
        ]
    )
    report = await imported(bench, data)
    assert [line["status"] for line in report[:-1]] == ["rejected", "imported", "imported"]
    await set_memories(bench, {"expires_at": 5}, content="memory 1")
    assert b"memory 1" not in await exported(bench)
    assert json.loads((await exported(bench)).splitlines()[-1])["memories"] == 1


async def test_an_empty_tenant_exports_a_manifest_and_an_end(bench: Bench, target: Bench) -> None:
    data = await exported(bench)
    assert len(data.splitlines()) == 2
    assert (await imported(target, data))[-1]["end"] == "holds"


async def test_a_vector_of_another_config_is_made_anew(bench: Bench) -> None:
    await fill(bench, 1)
    data = (await exported(bench, vectors=True)).replace(b"hashing/ngrams-v1/384", b"somebody/else/384")
    async with fresh() as other:
        other.embedder.calls.clear()
        assert (await imported(other, data))[-1]["imported"] == 2
        assert sum(len(texts) for texts, _ in other.embedder.calls) == 2


@asynccontextmanager
async def fresh() -> AsyncIterator[Bench]:
    """Open a deployment of its own, embedded."""
    with TemporaryDirectory() as directory:
        async with bench_on(Path(directory)) as bench:
            yield bench


async def test_an_import_cut_at_any_tenth_and_made_again_ends_the_same(backend: Backend, tmp_path: Path) -> None:
    data = file_of([*numbered(230), *numbered(30, start=500, agent_id="other")])
    async with bench_on(tmp_path / "whole", backend) as whole:
        await imported(whole, data)
        expected = await exported(whole)
    assert expected.splitlines()[1:] == data.splitlines()[1:]
    async with bench_on(tmp_path / "cut", backend) as bench:
        for tenth in range(1, 10):
            cut = data[: len(data) * tenth // 10]
            *_, summary = await imported(bench, cut)
            assert summary["end"] == "missing"
            assert summary["conflict"] == summary["duplicate"] == 0
        *lines, summary = await imported(bench, data)
        assert summary["end"] == "holds"
        assert Counter(line["status"] for line in lines).keys() == {"unchanged", "imported"}
        assert await exported(bench) == expected
        *_, summary = await imported(bench, data)
        assert summary["unchanged"] == 260


@pytest.mark.parametrize("part", ["embedder", "database"])
async def test_an_outage_ends_an_import_with_an_error_and_made_again_it_ends_the_same(bench: Bench, part: str) -> None:
    data = file_of(numbered(450))
    report = ImportReport()
    failing = bench.embedder if part == "embedder" else bench.database
    backends = with_changed(bench.backends.of_tenant("acme"), import_window=50)  # it is stored while it is read

    async def chunks() -> AsyncIterator[bytes]:
        async for chunk in in_chunks(data):
            yield chunk
            if await bench.memories() == 200:
                failing.error = Unavailable("away")

    with pytest.raises(Unavailable):
        await import_lines(chunks(), Import(backends, report), report)
    report.close()
    failing.error = None
    assert await bench.memories() == 200
    *_, summary = await imported(bench, data)
    assert (summary["unchanged"], summary["imported"], summary["end"]) == (200, 250, "holds")
    assert (await exported(bench)).splitlines()[1:] == data.splitlines()[1:]


async def test_without_the_index_an_import_goes_on_and_the_indexer_brings_the_vectors(bench: Bench) -> None:
    bench.index.error = Unavailable("away")
    assert (await imported(bench, file_of(numbered(20))))[-1]["imported"] == 20
    assert await bench.queued() == {"upsert": 20}
    bench.index.error = None
    assert await bench.contents("memory 7", top_k=1) == ["memory 7"]
    assert b'"vector"' in await exported(bench, vectors=True)
    await bench.quiet()
    assert await bench.queued() == {}
    assert await bench.contents("memory 7", top_k=1) == ["memory 7"]


async def test_an_outage_in_the_middle_leaves_an_export_without_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(bench, file_of(numbered(23)))
    monkeypatch.setattr(tier_rows, "PAGE_ROWS", 5)
    seen: list[bytes] = []

    async def until_the_outage() -> None:
        async for chunk in Export(bench.backends.of_tenant("acme")).chunks():
            seen.append(chunk)
            if len(seen) == 2:
                bench.database.error = DatabaseUnavailable("away")

    with pytest.raises(DatabaseUnavailable):
        await until_the_outage()
    assert b'"type":"end"' not in b"".join(seen)


async def test_a_transfer_waits_where_calls_are_rationed_and_gives_up_in_the_end(bench: Bench) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            bench.database.error = None

    bench.database.error = RateLimited("too many", retry_after=7)
    assert b'"type":"end"' in await exported(bench, retry_budget=RetryBudget(60, sleep))
    assert waits == [7, 7, 7]
    bench.database.error = RateLimited("too many", retry_after=7)
    with pytest.raises(RateLimited):
        await exported(bench, retry_budget=RetryBudget(10, sleep))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(memories=corpora)
def test_whatever_may_be_stored_survives_the_way_out_and_in(memories: Sequence[Record]) -> None:
    """Every line comes back as it was written: characters, numbers, moments, agents, metadata as large as allowed."""

    async def there_and_back() -> None:
        data = file_of(memories)
        for line in data.splitlines():
            VALIDATOR.validate(json.loads(line))
        async with fresh() as bench:
            report = await imported(bench, data)
            assert report[-1]["imported"] == len(memories), report
            back = await exported(bench, vectors=True)
            async with fresh() as other:
                assert (await imported(other, back))[-1]["end"] == "holds"
                assert await exported(other, vectors=True) == back
                assert (await exported(other)).splitlines()[1:] == data.splitlines()[1:]

    asyncio.run(there_and_back())


def test_a_hash_does_not_depend_on_the_order_of_keys() -> None:
    one = Record(agent_id="bot", content="x", metadata={"a": 1, "b": {"c": 1, "d": 2}}, id=f"01K{1:023d}", created_at=1)
    other = Record(
        agent_id="bot", content="x", metadata={"b": {"d": 2, "c": 1}, "a": 1}, id=f"01K{1:023d}", created_at=1
    )
    assert memory_line(one).hash == memory_line(other).hash
    assert memory_line(one).data != memory_line(other).data
