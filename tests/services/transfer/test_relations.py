"""Relations travel with their memories, and have their effect where they arrive."""

import json
from dataclasses import replace
from pathlib import Path

from app.domain.author import Author
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.report import ImportReport
from tests.services.compared import compare
from tests.services.scripted_reader import REPLACES, ScriptedReader
from tests.services.transfer.corpus import exported, imported, in_chunks, told
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on

OLD, NEW = "Ella goes to Sunflower kindergarten", "Ella is a first grader at Parkside"


async def compared(bench: Bench) -> bytes:
    """Store a correction that only a reader understands, and export both with what it found."""
    reader = ScriptedReader({(OLD, NEW): REPLACES})
    backends = replace(bench.backends, reader=reader)
    gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
    for day, content in enumerate((OLD, NEW), 1):
        await gateway.store("bot", NewMemory(content, occurred_at=day * 86_400_000))
    await compare(backends, reader)
    return await exported(bench)


def relations(data: bytes) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in data.splitlines()]
    return [line["row"] for line in lines if line.get("kind") == "relations"]


async def test_a_relation_arrives_with_its_memories_and_hides_there_without_a_reader(
    tmp_path: Path, backend: Backend
) -> None:
    async with bench_on(tmp_path / "from", backend) as source, bench_on(tmp_path / "to", backend) as target:
        data = await compared(source)
        (row,) = relations(data)
        assert (row["name"], row["effect"], row["version"]) == ("replaces", "hides", "scripted-1")
        assert {line["status"] for line in await imported(target, data) if "status" in line} == {"imported"}
        entries = (await target.gateway.recall("bot", Query("Ella's school"))).entries
        assert [entry.content for entry in entries] == [NEW]
        assert relations(await exported(target)) == [row]


async def test_who_may_speak_for_some_alone_imports_no_relations(tmp_path: Path, backend: Backend) -> None:
    bound = Author("of-ella", "import", speakers=frozenset({"ella"}))
    async with bench_on(tmp_path / "from", backend) as source, bench_on(tmp_path / "to", backend) as target:
        data = await compared(source)
        report = ImportReport()
        await import_lines(in_chunks(data), Import(target.backends.of_tenant("acme", bound), report), report)
        rejected = [line for line in told(report.chunks()) if line.get("status") == "rejected"]
        report.close()
        assert ["may speak for some alone" in str(line["detail"]) for line in rejected] == [True]
        assert relations(await exported(target)) == []
