"""Holds a file against its own words: the form of its lines, their hashes, their order and its closing line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.services.transfer.intake import LineCutter, Reader
from app.services.transfer.lines import BadLineError, End, Manifest

_SHOWN = 20


@dataclass(slots=True)
class Verdict:
    """What was found: counts, and the first flaws by line."""

    lines: int = 0
    memories: int = 0
    vectors: int = 0
    flaws: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, flaw: str) -> None:
        """Count a flaw."""
        self.flaws += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(flaw)


def verify(chunks: Iterable[bytes]) -> Verdict:
    """Read a whole file and say what is wrong with it."""
    cutter, reader, verdict = LineCutter(), Reader(), Verdict()
    before: tuple[int, str] | None = None
    for number, text in _lines(cutter, chunks):
        try:
            line = reader.read(text)
        except BadLineError as error:
            verdict.add(f"line {number} {error.detail}")
            continue
        if isinstance(line, Manifest | End):
            continue
        if reader.manifest is None and verdict.memories == 0:
            verdict.add(f"line {number} comes without a manifest before it")
        verdict.memories += 1
        verdict.vectors += line.record.vector is not None
        key = (line.record.created_at or 0, line.record.id or "")
        if before is not None and key <= before:
            verdict.add(f"line {number} is out of order: lines go by created_at, then id, each once")
        before = key
        if reader.manifest is not None and reader.manifest.agent_id not in {None, line.record.agent_id}:
            verdict.add(f"line {number} is of another agent than the manifest names")
    verdict.lines = cutter.number
    if reader.end is None:
        verdict.add("there is no closing line: the file is cut off")
    elif not reader.whole:
        verdict.add("the closing line is not that of the lines before it")
    return verdict


def _lines(cutter: LineCutter, chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes | None]]:
    for chunk in chunks:
        yield from cutter.lines(chunk)
    yield from cutter.last()
