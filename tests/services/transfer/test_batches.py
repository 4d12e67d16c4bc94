"""How the lines of an import are put together: each batch has ids in a row, and what is equal stays in order."""

import json
import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.bootstrap import DATABASE_FILE
from app.domain.errors import Unavailable
from app.domain.limits import MEMORY_ID
from app.domain.memory import Scope
from app.services.transfer.batch import MemoryImportLine, batches, candidates
from app.services.transfer.importer import Import
from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record
from app.services.transfer.report import ImportReport
from tests.interfaces.cli.line import Line
from tests.services.transfer.corpus import file_of, imported, numbered
from tests.support.gateways import Bench, bench_on, with_changed
from tests.support.memories import memory_ids

SCOPE = Scope("acme", "bot")
_WRITTEN = Path("/proc/self/io")


def entry(number: int, content: str, *, size: int = 1, id_: str | None = None) -> MemoryImportLine:
    record = Record(agent_id="bot", content=content, id=id_)
    return MemoryImportLine(number, id_, size=size, record=record, candidates=candidates("acme", record))


def test_the_batches_of_a_window_have_ids_in_a_row_and_all_lines_once() -> None:
    entries = [entry(number, f"content {number}") for number in range(103)]
    made = [*batches(entries, 10)]
    assert [len(batch) for batch in made] == [10] * 10 + [3]
    ids = [one.candidates[0] for batch in made for one in batch]
    assert ids == sorted(one.candidates[0] for one in entries)


def test_lines_of_one_content_or_one_id_stay_in_the_order_of_the_file() -> None:
    shuffled = random.Random(1)
    contents = [f"content {shuffled.randrange(20)}" for _ in range(100)]
    entries = [entry(number, content) for number, content in enumerate(contents)]
    entries += [entry(100 + number, f"other {number}", id_="01K2Z4M1V7Q8T3B5N6C7D8E9FA") for number in range(5)]
    order = [one.number for batch in batches(entries, 7) for one in batch]
    for content in set(contents):
        numbers = [number for number in order if number < 100 and contents[number] == content]
        assert numbers == sorted(numbers)
    assert [number for number in order if number >= 100] == [100, 101, 102, 103, 104]


def test_what_fits_into_one_batch_stays_as_it_is_and_a_batch_is_not_too_large() -> None:
    entries = [entry(number, f"content {number}") for number in range(9)]
    assert [*batches(entries, 10)] == [entries]
    large = [entry(number, f"content {number}", size=300_000) for number in range(9)]
    assert [len(batch) for batch in batches(large, 10)] == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(("in_order", "stored"), [(True, 4), (False, 0)])
async def test_lines_that_come_in_the_order_of_their_ids_are_stored_batch_by_batch_and_others_once_many_are_read(
    bench: Bench, *, in_order: bool, stored: int
) -> None:
    records = [replace(record, id=f"01K2Z4M1V7Q8T3B5N6C7D8E9F{n}") for n, record in enumerate(numbered(5))]
    backends = with_changed(bench.backends.of_tenant("acme"), import_lines=2, import_window=100)
    with closing(ImportReport()) as report:
        importing = Import(backends, report)
        await importing.begin()
        for line, record in enumerate(records if in_order else reversed(records)):
            await importing.add(line, memory_line(record))
        assert await bench.memories() == stored
        await importing.finish()
    assert await bench.memories() == 5


async def test_the_vectors_of_an_import_are_in_the_index_with_its_memories_and_nothing_is_queued(
    tmp_path: Path,
) -> None:
    async with bench_on(tmp_path) as bench:
        index = bench.index.inner
        whole = replace(bench, backends=replace(bench.backends, index=index))
        report = await imported(whole, file_of(numbered(70)))
        assert report[-1]["imported"] == 70
        assert await bench.queued() == {}
        ids = await memory_ids(bench)
        assert {id_: held.scope for id_, held in (await index.held(ids)).items()} == dict.fromkeys(ids, SCOPE)
        assert await bench.contents("memory 7", top_k=1) == ["memory 7"]


async def test_a_vector_whose_deletion_is_under_way_waits_in_the_outbox_as_before(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        whole = replace(bench, backends=replace(bench.backends, index=bench.index.inner))
        await imported(whole, file_of(numbered(2)))
        bench.index.error = Unavailable("away")
        await bench.gateway.delete("bot", numbered(1)[0].id or "")
        assert (await imported(whole, file_of(numbered(2))))[-1]["imported"] == 1
        assert await bench.queued() == {"upsert": 1}
        assert await bench.contents("memory 0", top_k=1) == ["memory 0"]


@pytest.mark.thorough
@pytest.mark.skipif(not _WRITTEN.exists(), reason="only Linux counts what a process writes")
def test_an_import_writes_at_most_two_and_a_half_times_what_its_database_has_in_the_end(tmp_path: Path) -> None:
    line, made = Line(tmp_path / "data"), random.Random(2)
    words = ["".join(made.choices("abcdefghijklmnop", k=6)) for _ in range(3000)]
    memories = [json.dumps({"memory": " ".join([*made.choices(words, k=25), str(n)])}) for n in range(4000)]
    line.ok("migrate")
    before = _written()
    assert "4000 imported" in line.run("import", "-", "--format", "mem0", stdin="\n".join(memories)).stdout
    assert _written() - before <= 2.5 * (tmp_path / "data" / DATABASE_FILE).stat().st_size


def _written() -> int:
    """Return the bytes that this process has written so far."""
    return int(dict(line.split(": ") for line in _WRITTEN.read_text("utf-8").splitlines())["wchar"])


async def test_a_memory_without_an_id_that_an_older_version_imported_is_found(bench: Bench) -> None:
    record = Record(agent_id="bot", content="imported long ago", metadata={"n": 1})
    older = candidates("acme", record)[-1]
    memories = [replace(record, id=older, created_at=5)]
    assert (await imported(bench, file_of(memories)))[-1]["imported"] == 1
    for _ in range(2):
        with closing(ImportReport()) as report:
            importing = Import(bench.backends.of_tenant("acme"), report)
            await importing.begin()
            await importing.add(1, memory_line(record))
            await importing.finish()
            assert report.counts["unchanged"] == 1


def test_ids_of_memories_that_bring_none_are_in_the_order_of_their_contents_hashes_and_differ_by_tenant() -> None:
    records = sorted(
        (Record(agent_id="bot", content=f"content {n}") for n in range(50)), key=lambda record: record.content_hash
    )
    ids = [candidates("acme", record)[0] for record in records]
    assert ids == sorted(ids)
    assert not set(ids) & {candidates("other", record)[0] for record in records}
    assert [id_ for id_ in ids if MEMORY_ID.violation(id_)] == []
