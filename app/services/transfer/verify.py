"""Holds a file against its own words: the form of its lines, their hashes, their order and its closing line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from app.services.transfer.intake import CutLine, LineCutter, Reader
from app.services.transfer.lines import BadLineError, End, Manifest, MemoryLine, RowLine
from app.storage.tiers.tables import TIER_TABLES

_SHOWN = 20
_KINDS = [tier.kind for tier in TIER_TABLES]


@dataclass(slots=True)
class Verdict:
    """What was found: counts, and the first flaws by line."""

    lines: int = 0
    memories: int = 0
    rows: int = 0
    vectors: int = 0
    flaws: int = 0
    examples: list[str] = field(default_factory=list)

    def count(self, line: MemoryLine | RowLine) -> None:
        """Count what a line holds."""
        if isinstance(line, RowLine):
            self.rows += 1
        else:
            self.memories += 1
            self.vectors += line.record.vector is not None

    def add(self, flaw: str, times: int = 1) -> None:
        """Count a flaw that lines in a row have, and keep what is said of the first of them."""
        self.flaws += times
        if len(self.examples) < _SHOWN:
            self.examples.append(flaw)


def verify(chunks: Iterable[bytes]) -> Verdict:
    """Read a whole file and say what is wrong with it."""
    cutter, reader, verdict = LineCutter(), Reader(), Verdict()
    before: tuple[Any, ...] | None = None
    for number, text, times in _lines(cutter, chunks):
        try:
            line = reader.read(text)
        except BadLineError as error:
            verdict.add(f"line {number} {error.detail}", times)
            continue
        if isinstance(line, Manifest | End):
            continue
        if reader.manifest is None and verdict.memories == verdict.rows == 0:
            verdict.add(f"line {number} comes without a manifest before it")
        verdict.count(line)
        place = _place(line)
        if before is not None and place <= before:
            verdict.add(
                f"line {number} is out of order: memories go by created_at, then id, and then rows by kind and key, "
                "each once"
            )
        before = place
        agent_id = line.agent_id if isinstance(line, RowLine) else line.record.agent_id
        if reader.manifest is not None and reader.manifest.agent_id not in {None, agent_id}:
            verdict.add(f"line {number} is of another agent than the manifest names")
    verdict.lines = cutter.number
    if reader.end is None:
        verdict.add("there is no closing line: the file is cut off")
    elif not reader.whole:
        verdict.add("the closing line is not that of the lines before it")
    return verdict


def _place(line: MemoryLine | RowLine) -> tuple[Any, ...]:
    """Return what lines are in the order of; numbers come before texts."""
    if isinstance(line, RowLine):
        return _KINDS.index(line.tier.kind) + 1, *((isinstance(part, str), part) for part in line.key)
    return 0, line.record.created_at or 0, line.record.id or ""


def _lines(cutter: LineCutter, chunks: Iterable[bytes]) -> Iterator[CutLine]:
    for chunk in chunks:
        yield from cutter.lines(chunk)
    yield from cutter.last()
