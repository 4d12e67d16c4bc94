"""Holds a file against its own words: the form of its lines, their hashes, their order and its closing line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app.services.transfer.intake import CutLine, LineCutter, LineReader
from app.services.transfer.lines import BadLineError, End, Manifest, MemoryLine, RowLine
from app.storage.tiers.tables import TIER_TABLES

_SHOWN = 20
_KINDS = [tier.kind for tier in TIER_TABLES]


@dataclass(slots=True)
class ExportVerdict:
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


class Verifier:
    """Takes a file chunk by chunk; ``end`` says what is wrong with the whole of it."""

    def __init__(self) -> None:
        """Begin with the first line."""
        self._cutter, self._reader, self._verdict = LineCutter(), LineReader(), ExportVerdict()
        self._before: tuple[Any, ...] | None = None

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._take(self._cutter.lines(chunk))

    def end(self) -> ExportVerdict:
        """Return what was found, once all bytes were taken."""
        self._take(self._cutter.last())
        self._verdict.lines = self._cutter.number
        if self._reader.end is None:
            self._verdict.add("there is no closing line: the file is cut off")
        elif not self._reader.whole:
            self._verdict.add("the closing line is not that of the lines before it")
        return self._verdict

    def _take(self, lines: Iterable[CutLine]) -> None:
        for number, text, times in lines:
            try:
                line = self._reader.read(text)
            except BadLineError as error:
                self._verdict.add(f"line {number} {error.detail}", times)
                continue
            if not isinstance(line, Manifest | End):
                self._judge(number, line)

    def _judge(self, number: int, line: MemoryLine | RowLine) -> None:
        reader, verdict = self._reader, self._verdict
        if reader.manifest is None and verdict.memories == verdict.rows == 0:
            verdict.add(f"line {number} comes without a manifest before it")
        verdict.count(line)
        place = _place(line)
        if self._before is not None and place <= self._before:
            verdict.add(
                f"line {number} is out of order: memories go by created_at, then id, and then rows by kind and key, "
                "each once"
            )
        self._before = place
        agent_id = line.agent_id if isinstance(line, RowLine) else line.record.agent_id
        if reader.manifest is not None and reader.manifest.agent_id not in {None, agent_id}:
            verdict.add(f"line {number} is of another agent than the manifest names")


def verify(chunks: Iterable[bytes]) -> ExportVerdict:
    """Read a whole file and say what is wrong with it."""
    verifier = Verifier()
    for chunk in chunks:
        verifier.take(chunk)
    return verifier.end()


def _place(line: MemoryLine | RowLine) -> tuple[Any, ...]:
    """Return what lines are in the order of; numbers come before texts."""
    if isinstance(line, RowLine):
        return _KINDS.index(line.tier.kind) + 1, *((isinstance(part, str), part) for part in line.key)
    return 0, line.record.created_at or 0, line.record.id or ""
