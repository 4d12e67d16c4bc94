"""A line that cannot be taken is reported for what it is, and the rest is imported."""

import json
import time
from collections.abc import Callable

import pytest

from app.domain.errors import Erasing
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.services.transfer.intake import CutLine, LineCutter
from app.services.transfer.lines import LINE_BYTES, Manifest, memory_line
from app.services.transfer.record import Record
from app.services.transfer.report import MAX_REJECTED_LISTED
from app.services.transfer.verify import verify
from tests.services.transfer.corpus import changed, exported, file_of, imported, numbered
from tests.support.gateways import Bench
from tests.support.tables import rows_of

GOOD = memory_line(Record(agent_id="bot", content="bad line", metadata={}, id=f"01K{99:023d}", created_at=1)).data
HASH = "0" * 64
EMBEDDED_ALONE = pytest.mark.parametrize("backend", ["embedded"], indirect=True)
"""A line is read, and refused, before anything is asked of a backend."""
BAD: dict[str, tuple[bytes, str]] = {
    "not json": (b'{"type":"memory"\n', "is not valid JSON"),
    "half a line": (GOOD[: len(GOOD) // 2] + b"\n", "is not valid JSON"),
    "empty": (b"\n", "is not valid JSON"),
    "not utf-8": (b'{"type":"\xff"}\n', "is not valid JSON"),
    "not a number": (b'{"type":"memory","x":NaN}\n', "is not valid JSON"),
    "endlessly nested": (b"[" * 100_000 + b"\n", "is not valid JSON"),
    "an array": (b"[1]\n", "is not a JSON object"),
    "no type": (b"{}\n", "type that is not known"),
    "an odd type": (b'{"type":["memory"]}\n', "type that is not known"),
    "another type": (changed(GOOD, type="agent"), "type that is not known"),
    "too long": (changed(GOOD, content="x" * LINE_BYTES), "bytes"),
    "content over its limit": (changed(GOOD, content="x" * 40_000), "content has 40000 bytes"),
    "metadata over its limit": (changed(GOOD, metadata={"x": "x" * 11_000}), "metadata has"),
    "metadata too deep": (changed(GOOD, metadata={"x": json.loads("[" * 20 + "]" * 20)}), "nested deeper"),
    "blank content": (changed(GOOD, content=" "), "must not be blank"),
    "a nul": (changed(GOOD, content="a\0b"), "must not contain NUL"),
    "half a pair": (GOOD.replace(b"bad line", b"bad \\ud800"), "lone surrogate"),
    "an odd agent": (changed(GOOD, agent_id="a b"), "agent_id must be"),
    "no id": (changed(GOOD, id=None), "lacks id"),
    "an odd id": (changed(GOOD, id="1234"), "id must be"),
    "a number for a text": (changed(GOOD, content=5), "content must be a text"),
    "a list for metadata": (changed(GOOD, metadata=[1]), "metadata must be an object"),
    "no moment": (changed(GOOD, created_at="yesterday"), "created_at must be a timestamp"),
    "no hash": (changed(GOOD, hash=None), "lacks hash"),
    "an odd hash": (changed(GOOD, hash="x"), "hash must be"),
    "another hash": (changed(GOOD, hash=HASH), "the hash is not that of the memory"),
    "changed content": (changed(GOOD, content="better"), "the hash is not that of the memory"),
    "a tenant": (changed(GOOD, tenant="other"), "names no tenant"),
    "its own tenant": (changed(GOOD, tenant="acme"), "names no tenant"),
    "an unknown field": (changed(GOOD, tenant_id="other"), "'tenant_id'"),
    "a vector without its config": (changed(GOOD, vector="AAAA"), "belong together"),
    "a vector that is no base64": (changed(GOOD, vector="!", embedding="a/b/1"), "not base64"),
    "a vector of another length": (changed(GOOD, vector="AAAA", embedding="a/b/2"), "not as many numbers"),
    "a vector of zeros": (changed(GOOD, vector="AAAAAA==", embedding="a/b/1"), "not of unit length"),
    "a vector of no numbers": (changed(GOOD, vector="AADAfw==", embedding="a/b/1"), "not of unit length"),
    "an infinite vector": (changed(GOOD, vector="AACAfw==", embedding="a/b/1"), "not of unit length"),
    "an odd config": (changed(GOOD, vector="AAAA", embedding="hashing"), "provider/model/dimensions"),
    "a second manifest": (Manifest("acme", None, 0, (), vectors=False).data, "only the first line"),
    "another format": (b'{"type":"manifest","format":"mem0"}\n', "another format"),
}


@EMBEDDED_ALONE
@pytest.mark.parametrize("name", BAD)
async def test_a_bad_line_is_reported_and_the_rest_is_imported(bench: Bench, name: str) -> None:
    bad, says = BAD[name]
    lines = file_of(numbered(4)).splitlines(keepends=True)
    lines.insert(3, bad)
    *report, summary = await imported(bench, b"".join(lines))
    assert [(line["line"], line["status"]) for line in report] == [
        (2, "imported"),
        (3, "imported"),
        (4, "rejected"),
        (5, "imported"),
        (6, "imported"),
    ]
    assert says in report[2]["detail"]
    assert summary["end"] == "holds"
    assert len(str(report[2])) < 400
    assert (await exported(bench)).splitlines()[1:] == file_of(numbered(4)).splitlines()[1:]
    assert verify([b"".join(lines)]).examples[0].startswith("line 4 ")


def swapped(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


# What is wrong with a file as a whole: the change, how many of its four memories are imported, what is said of its end.
WHOLE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int, str]] = {
    "no end": (lambda lines: lines[:-1], 4, "missing"),
    "a line lost": (lambda lines: [*lines[:2], *lines[3:]], 3, "wrong"),
    "a line twice": (lambda lines: [*lines[:2], *lines[1:]], 4, "wrong"),
    "two lines swapped": (swapped, 4, "wrong"),
    "another count": (lambda lines: [*lines[:-1], changed(lines[-1], memories=9)], 4, "wrong"),
    "another hash": (lambda lines: [*lines[:-1], changed(lines[-1], hash=HASH)], 4, "wrong"),
    "a memory after the end": (lambda lines: [*lines, GOOD], 4, "holds"),
    "no manifest": (lambda lines: lines[1:], 4, "holds"),
    "another tenant's manifest": (lambda lines: [changed(lines[0], tenant="other"), *lines[1:]], 4, "holds"),
    "a newer version": (lambda lines: [changed(lines[0], version=4), *lines[1:]], 0, "missing"),
    "no line end": (lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")], 4, "holds"),
    "nothing": (lambda _: [], 0, "missing"),
}


@EMBEDDED_ALONE
@pytest.mark.parametrize("name", WHOLE)
async def test_what_is_wrong_with_a_file_as_a_whole_is_told(bench: Bench, name: str) -> None:
    change, count, end = WHOLE[name]
    data = b"".join(change(file_of(numbered(4)).splitlines(keepends=True)))
    *report, summary = await imported(bench, data)
    assert (summary["imported"], summary["end"]) == (count, end)
    assert await bench.memories() == count
    if name == "a newer version":
        assert [line["status"] for line in report] == ["rejected"] * 6
        assert "version 4" in report[0]["detail"]
    if name == "another tenant's manifest":
        assert (summary["of_tenant"], summary["rejected"], len(report)) == ("other", 0, 4)
    flawless = name in {"no line end", "another tenant's manifest"}  # which tenant it is, a file alone does not know
    assert (verify([data]).flaws == 0) is flawless


async def test_the_same_content_under_another_id_is_a_duplicate(bench: Bench) -> None:
    first = numbered(1)[0]
    again = Record(agent_id="bot", content=first.content, metadata={"other": 1}, id=f"01K{50:023d}", created_at=5)
    elsewhere = Record(agent_id="other", content=first.content, metadata={}, id=f"01K{51:023d}", created_at=6)
    report = await imported(bench, file_of([first, again, elsewhere]))
    assert [line["status"] for line in report[:-1]] == ["imported", "imported", "duplicate"]
    assert report[2]["detail"] == f"the agent has this content as {again.id}"
    (alone, _) = await imported(bench, file_of([first]))
    assert alone["detail"] == f"the agent has this content as {again.id}"
    assert await bench.memories() == 2


async def test_another_memory_under_an_id_that_is_there_is_a_conflict(bench: Bench) -> None:
    first = numbered(1)[0]
    await imported(bench, file_of([first]))
    before = await exported(bench)
    for other in (
        Record(agent_id="bot", content="other", metadata=first.metadata, id=first.id, created_at=first.created_at),
        Record(
            agent_id="other", content=first.content, metadata=first.metadata, id=first.id, created_at=first.created_at
        ),
        Record(agent_id="bot", content=first.content, metadata={"n": "0"}, id=first.id, created_at=first.created_at),
        Record(agent_id="bot", content=first.content, metadata=first.metadata, id=first.id, created_at=7),
    ):
        report = await imported(bench, file_of([other]))
        assert [line["status"] for line in report[:-1]] == ["conflict"]
    assert await exported(bench) == before


async def test_two_memories_of_one_file_with_one_id_are_told_apart(bench: Bench) -> None:
    first = numbered(1)[0]
    other = Record(agent_id="bot", content="other", metadata={}, id=first.id, created_at=5)
    report = await imported(bench, file_of([first, other, first]))
    assert [line["status"] for line in report[:-1]] == ["imported", "conflict", "conflict"]
    assert await bench.contents("other") == ["other"]


async def test_an_id_that_another_tenant_has_is_neither_overwritten_nor_told(bench: Bench) -> None:
    theirs = await bench.tenant("neighbour").store("bot", NewMemory("of the neighbour"))
    record = Record(agent_id="bot", content="mine", metadata={}, id=theirs, created_at=5)
    free = Record(agent_id="bot", content="mine too", metadata={}, id=f"01K{1:023d}", created_at=6)
    taken, untaken, _ = await imported(bench, file_of([record, free]))
    assert taken | {"id": 0, "line": 0} == untaken | {"id": 0, "line": 0}
    assert (await imported(bench, file_of([record, free])))[-1]["unchanged"] == 2
    (entry,) = (await bench.gateway.recall("bot", Query("mine", top_k=1))).entries
    assert (entry.content, entry.id != theirs) == ("mine", True)
    neighbours = (await bench.tenant("neighbour").recall("bot", Query("of the neighbour"))).entries
    assert [(found.id, found.content) for found in neighbours] == [(theirs, "of the neighbour")]
    await bench.quiet()
    assert await bench.memories() == 3


async def test_an_id_whose_removal_is_under_way_for_another_tenant_costs_nobody_anything(bench: Bench) -> None:
    theirs = await bench.tenant("neighbour").store("bot", NewMemory("of the neighbour"))
    await bench.tenant("neighbour").delete("bot", theirs)
    assert (
        await imported(bench, file_of([Record(agent_id="bot", content="mine", metadata={}, id=theirs, created_at=5)]))
    )[-1]["imported"] == 1
    await bench.quiet()
    assert await bench.queued() == {}
    assert await bench.contents("mine") == ["mine"]


async def test_a_memory_that_was_just_deleted_can_be_brought_back(bench: Bench) -> None:
    await imported(bench, file_of(numbered(3)))
    data = await exported(bench)
    await bench.gateway.delete("bot", f"01K{1:023d}")
    assert (await imported(bench, data))[-1]["imported"] == 1
    assert await bench.contents("memory 1", top_k=1) == ["memory 1"]
    await bench.quiet()
    assert await bench.queued() == {}
    assert await exported(bench) == data
    assert await bench.contents("memory 1", top_k=1) == ["memory 1"]


async def test_while_an_agent_is_erased_nothing_of_it_is_imported(bench: Bench) -> None:
    data = file_of([*numbered(3), *numbered(3, start=9, agent_id="other")])
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.gateway.erase("bot")
    with pytest.raises(Erasing):
        await imported(bench, data)
    assert b'"content":"memory' not in await exported(bench, agent_id="bot")
    await bench.quiet()
    assert (await imported(bench, data))[-1]["end"] == "holds"
    assert await bench.memories() == 6


async def test_while_a_tenant_is_erased_nothing_is_even_read(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("text"))
    await bench.gateway.erase(None)
    bench.embedder.calls.clear()
    with pytest.raises(Erasing):
        await imported(bench, file_of(numbered(3)))
    assert (bench.embedder.calls, await bench.memories()) == ([], 1)


async def test_an_import_into_one_agent_takes_nothing_for_another(bench: Bench) -> None:
    data = file_of([*numbered(2), *numbered(2, start=9, agent_id="other")])
    *report, _ = await imported(bench, data, only_agent="bot")
    assert [line["status"] for line in report] == ["imported", "imported", "rejected", "rejected"]
    assert await bench.memories() == 2


async def test_every_imported_memory_leaves_an_audit_row_without_content(bench: Bench) -> None:
    await imported(bench, file_of(numbered(2)))
    await imported(bench, file_of(numbered(2)))
    rows = await rows_of(bench, "audit", by="number")
    assert [(row["event"], row["tenant_id"], row["agent_id"]) for row in rows] == [("imported", "acme", "bot")] * 2
    assert json.loads(str(rows[0]["detail"]))["embedded"] is True
    assert "memory 0" not in str(rows)


@EMBEDDED_ALONE
async def test_of_very_many_rejected_lines_the_first_are_listed_and_all_are_counted(bench: Bench) -> None:
    lines = MAX_REJECTED_LISTED + 500
    *report, summary = await imported(bench, b"x\n" * lines)
    assert len(report) == MAX_REJECTED_LISTED
    assert (summary["rejected"], summary["rejected_unlisted"]) == (lines, 500)


@EMBEDDED_ALONE
@pytest.mark.parametrize(
    "end", [b"\n", *(pytest.param(end, marks=pytest.mark.thorough) for end in (b"\r\n", b" \t \n"))], ids=ascii
)
async def test_blank_lines_are_rejected_and_counted_and_cost_next_to_nothing(bench: Bench, end: bytes) -> None:
    memories = file_of(numbered(500))
    started = time.process_time()
    await imported(bench, memories)
    of_memories, blank = time.process_time() - started, 2 * 1024 * 1024 // len(end)
    lines = file_of(numbered(4)).splitlines(keepends=True)
    of_blanks = []
    for _ in range(3):  # of a process that collects garbage meanwhile the first time tells little
        started = time.process_time()
        *report, summary = await imported(bench, b"".join([*lines[:3], end * blank, *lines[3:]]))
        of_blanks.append(time.process_time() - started)
    assert min(of_blanks) < of_memories
    assert (summary["lines"], summary["rejected"], summary["end"]) == (blank + 6, blank, "holds")
    assert summary["rejected_unlisted"] == blank - MAX_REJECTED_LISTED
    rejected = [line["line"] for line in report if line["status"] == "rejected"]
    assert rejected == list(range(4, 4 + MAX_REJECTED_LISTED))
    verdict = verify([b"".join([*lines[:3], end * blank, *lines[3:]])])
    assert (verdict.flaws, verdict.lines, verdict.examples) == (blank, blank + 6, ["line 4 is not valid JSON"])


def test_blank_lines_are_counted_wherever_chunks_end() -> None:
    data = b"\n \n" + file_of(numbered(2)).replace(b"\n", b"\n\n\r\n \n") + b"\n \t"
    assert len(cut([data])) == 2 + 4 * 2 + 1, "blank lines in a row are one"
    for size in (1, 2, 3, 7):
        parts = [data[start : start + size] for start in range(0, len(data), size)]
        assert (
            sum(line.times for line in cut(parts)) == sum(line.times for line in cut([data])) == data.count(b"\n") + 1
        )
        texts = [line.text for line in cut(parts) if (line.text or b"").strip()]
        assert texts == [line.text for line in cut([data]) if (line.text or b"").strip()]


def cut(parts: list[bytes]) -> list[CutLine]:
    """Cut a file that arrives in parts."""
    cutter = LineCutter()
    return [*(line for part in parts for line in cutter.lines(part)), *cutter.last()]
