"""Checks a file against itself: the form of its lines, their hashes, their order and its closing line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app.services.transfer.fields import BadLineError
from app.services.transfer.intake import LineReader, ReadLine
from app.services.transfer.lines import Line

_SHOWN = 20


@dataclass(slots=True)
class ExportVerdict:
    """The result of a check: counts of lines and flaws, and the texts of the first flaws."""

    lines: int = 0
    memories: int = 0
    rows: int = 0
    vectors: int = 0
    flaws: int = 0
    examples: list[str] = field(default_factory=list)

    def count(self, line: Line) -> None:
        """Count the memory or the row of a line, and its vector."""
        self.memories += line.is_memory
        self.rows += not line.is_memory
        self.vectors += line.is_memory and line.record.vector is not None

    def add(self, flaw: str, times: int = 1) -> None:
        """Count a flaw of ``times`` consecutive lines, and keep its text while few are kept."""
        self.flaws += times
        if len(self.examples) < _SHOWN:
            self.examples.append(flaw)


class Verifier:
    """Checks a file chunk by chunk; ``end`` returns the flaws of the whole file."""

    def __init__(self) -> None:
        """Begin with the first line."""
        self._reader, self._verdict = LineReader(), ExportVerdict()
        self._before: tuple[Any, ...] | None = None

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._take(self._reader.lines(chunk))

    def end(self) -> ExportVerdict:
        """Return the result, once all bytes were taken."""
        self._take(self._reader.last())
        self._verdict.lines = self._reader.count
        if self._reader.ending == "missing":
            self._verdict.add("there is no closing line: the file is cut off")
        elif self._reader.ending == "wrong":
            self._verdict.add("the closing line is not that of the lines before it")
        return self._verdict

    def _take(self, lines: Iterable[ReadLine]) -> None:
        for number, line, times in lines:
            if isinstance(line, BadLineError):
                self._verdict.add(f"line {number} {line.detail}", times)
            elif isinstance(line, Line):
                self._judge(number, line)

    def _judge(self, number: int, line: Line) -> None:
        manifest, verdict = self._reader.manifest, self._verdict
        if manifest is None and verdict.memories == verdict.rows == 0:
            verdict.add(f"line {number} comes without a manifest before it")
        verdict.count(line)
        if self._before is not None and line.position <= self._before:
            verdict.add(
                f"line {number} is out of order: memories go by created_at, then id, and then rows by kind and key, "
                "each once"
            )
        self._before = line.position
        if manifest is not None and manifest.agent_id not in {None, line.agent_id}:
            verdict.add(f"line {number} is of another agent than the manifest names")


def verify(chunks: Iterable[bytes]) -> ExportVerdict:
    """Check a whole file, and return its flaws."""
    verifier = Verifier()
    for chunk in chunks:
        verifier.take(chunk)
    return verifier.end()
