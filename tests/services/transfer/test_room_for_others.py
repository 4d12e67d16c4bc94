"""Exports and imports are done in small parts, each of which waits for the requests that are under way."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from app.services.transfer.export import Export
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import Line
from app.services.transfer.report import ImportReport
from app.services.turns.admission import Admission, TenantAdmission
from tests.services.transfer.corpus import file_of, imported, in_chunks, numbered
from tests.support.backends import Backend
from tests.support.gateways import Bench, with_changed

MEMORIES = 300
_MOST_EXPORTED = 20
_MOST_READ = 8
_MOST_WRITTEN_HERE = 50


class _Told:
    """Has each part of long work go on at once, and notes how many lines were done when each began."""

    def __init__(self) -> None:
        self.lines: Callable[[], int] = lambda: 0
        self.seen = [0]

    async def part(self) -> None:
        self.seen.append(self.lines())
        await asyncio.sleep(0)

    @property
    def most(self) -> int:
        """The most lines that were done in one part."""
        return max(after - before for before, after in pairwise([*self.seen, self.lines()]))


class _PacedBy(TenantAdmission):
    """The turns of a process of its own, in which each part of long work waits for something else."""

    def __init__(self, part: Callable[[], Awaitable[None]]) -> None:
        super().__init__("acme", Admission())
        self._wait = part

    async def part(self) -> None:
        await self._wait()


@dataclass
class _Counting:
    """An import that counts the lines it takes."""

    importing: Import
    lines: int = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.importing, name)

    async def add(self, number: int, line: Line) -> None:
        self.lines += 1
        await self.importing.add(number, line)


async def test_an_export_writes_a_few_lines_in_each_part(bench: Bench) -> None:
    await imported(bench, file_of(numbered(MEMORIES)))
    told = _Told()
    export = Export(with_changed(bench.backends.of_tenant("acme"), admission=_PacedBy(told.part)), vectors=True)
    told.lines = lambda: export.total.memories
    async for _ in export.chunks():
        pass
    assert export.total.memories == MEMORIES
    assert told.most <= _MOST_EXPORTED


async def test_an_export_waits_for_its_parts(bench: Bench) -> None:
    await imported(bench, file_of(numbered(MEMORIES)))
    begins = asyncio.Event()

    async def part() -> None:
        await begins.wait()

    export = Export(with_changed(bench.backends.of_tenant("acme"), admission=_PacedBy(part)))
    chunks = export.chunks()
    first = asyncio.ensure_future(anext(chunks))
    await asyncio.wait([first], timeout=0.05)
    assert not first.done()
    assert export.total.memories == 0
    begins.set()
    await first
    async for _ in chunks:
        pass
    assert export.total.memories == MEMORIES


async def test_an_import_reads_a_few_lines_in_each_part(bench: Bench) -> None:
    told, report = _Told(), ImportReport()
    counting = _Counting(Import(with_changed(bench.backends.of_tenant("acme"), admission=_PacedBy(told.part)), report))
    told.lines = lambda: counting.lines
    await import_lines(in_chunks(file_of(numbered(MEMORIES))), counting, report)  # type: ignore[arg-type]
    report.close()
    assert counting.lines == await bench.memories() == MEMORIES
    assert told.most <= _MOST_READ


async def test_an_import_on_this_machine_writes_a_few_memories_in_each_commit(bench: Bench, backend: Backend) -> None:
    await imported(bench, file_of(numbered(MEMORIES)))
    written = [
        len(lines)
        for run in bench.database.runs
        for statement in run
        if statement.writes and isinstance(statement.argument, Mapping)
        if isinstance(lines := statement.argument.get("lines"), list)
    ]
    assert written
    assert max(written) <= (_MOST_WRITTEN_HERE if backend.name == "embedded" else 200)
