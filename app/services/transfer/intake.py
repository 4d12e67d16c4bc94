"""Reads an import: cuts its bytes into lines, and takes the lines one by one."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import count
from typing import NamedTuple

from app.services.transfer.fields import BadLineError
from app.services.transfer.formats import Flaw
from app.services.transfer.importer import Import
from app.services.transfer.lines import LINE_BYTES, VERSION, End, FileLine, Line, Manifest, Total, memory_line
from app.services.transfer.reading import check, read_line
from app.services.transfer.record import Record
from app.services.transfer.report import Ending, ImportReport

_LINES_AT_ONCE = 8
"""Lines that are read in one part of an import, which takes about a millisecond."""
_BLANK_LINES = re.compile(rb"(?:[ \t\r]*+\n)+")


class CutLine(NamedTuple):
    """A line of a file: its number from 1, and its text; None where the text is over the limit.

    Consecutive blank lines are one ``CutLine`` with the number of the first line, and ``times`` is how many they are.
    """

    number: int
    text: bytes | None
    times: int = 1


class LineCutter:
    """Cuts chunks of any size into lines, and never holds more bytes than a line may have."""

    def __init__(self) -> None:
        """Begin with the first line."""
        self.number = 0
        self._rest = bytearray()
        self._too_long = False

    def lines(self, chunk: bytes) -> Iterator[CutLine]:
        """Yield the lines that end in this chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield self._line(chunk[start:end])
            start = end + 1
            # To read each blank line alone would take a thousand times as long as to count its bytes.
            if (blank := _BLANK_LINES.match(chunk, start)) is not None:
                start, times = blank.end(), blank[0].count(b"\n")
                yield CutLine(self.number + 1, b"", times)
                self.number += times
        self._keep(chunk[start:])

    def last(self) -> Iterator[CutLine]:
        """Yield the bytes behind the last line's end as a line, where there are any."""
        if self._rest or self._too_long:
            yield self._line(b"")

    def _line(self, end: bytes) -> CutLine:
        self._keep(end)
        self.number += 1
        line = None if self._too_long else bytes(self._rest)
        self._rest.clear()
        self._too_long = False
        return CutLine(self.number, line)

    def _keep(self, part: bytes) -> None:
        if len(self._rest) + len(part) > LINE_BYTES:
            self._too_long = True
            self._rest.clear()
        if not self._too_long:
            self._rest += part


class ReadLine(NamedTuple):
    """A line of a file that was read: its content, or why it cannot be taken; ``times`` is that of ``CutLine``."""

    number: int
    line: FileLine | BadLineError
    times: int


class LineReader:
    """Reads the lines of one file in their order, and compares the file with its closing line."""

    def __init__(self) -> None:
        """Begin with the first line."""
        self.manifest: Manifest | None = None
        self.total = Total()
        self._cutter = LineCutter()
        self._end: End | None = None
        self._refusal: str | None = None

    def lines(self, chunk: bytes) -> Iterator[ReadLine]:
        """Yield the lines that end in this chunk."""
        return map(self._read, self._cutter.lines(chunk))

    def last(self) -> Iterator[ReadLine]:
        """Yield the bytes behind the last line's end as a line, where there are any."""
        return map(self._read, self._cutter.last())

    @property
    def count(self) -> int:
        """How many lines were read so far."""
        return self._cutter.number

    @property
    def ending(self) -> Ending:
        """Whether the closing line agrees with the lines before it, or is missing."""
        if self._end is None:
            return "missing"
        return "holds" if self._end == self.total.end else "wrong"

    def _read(self, cut: CutLine) -> ReadLine:
        try:
            line = self._taken(cut.text)
        except BadLineError as error:
            return ReadLine(cut.number, error, cut.times)
        return ReadLine(cut.number, line, cut.times)

    def _taken(self, text: bytes | None) -> FileLine:
        if self._refusal is not None:
            raise BadLineError(self._refusal)
        if text is None:
            raise BadLineError(f"has more than {LINE_BYTES} bytes")
        line = read_line(text)
        if isinstance(line, Manifest):
            self._begin(line)
        elif self._end is not None:
            raise BadLineError("comes after the closing line")
        elif isinstance(line, End):
            self._end = line
        else:
            self.total.add(line)
        return line

    def _begin(self, manifest: Manifest) -> None:
        if manifest.version > VERSION:
            self._refusal = (
                f"is of version {manifest.version} of the format; this service reads up to version {VERSION}"
            )
            raise BadLineError(self._refusal)
        if self.manifest is not None or self.total.memories or self.total.rows or self._end is not None:
            raise BadLineError("is a manifest, which only the first line can be")
        self.manifest = manifest


async def import_lines(
    chunks: AsyncIterator[bytes], to: Import, report: ImportReport, *, of_tenant: str | None = None
) -> None:
    """Import lines of our own format; the report has the status of each line. Raises as ``Import`` does.

    The lines are an export of the tenant itself, or of the tenant ``of_tenant``.
    """
    whose = of_tenant or to.tenant_id
    await to.begin()
    reader, read = LineReader(), count(1)

    async def take(lines: Iterable[ReadLine]) -> None:
        for number, line, times in lines:
            if next(read) % _LINES_AT_ONCE == 0:  # a chunk may hold a line in each two bytes
                await to.part()
            if isinstance(line, Line):
                await to.add(number, line)
            elif isinstance(line, BadLineError):
                await to.reject(number, line.detail, line.id, times=times)
            elif isinstance(line, Manifest) and line.tenant != whose:
                report.of_tenant = line.tenant

    async for chunk in chunks:
        await take(reader.lines(chunk))
    await take(reader.last())
    await to.finish()
    report.lines, report.manifest, report.end = reader.count, reader.manifest is not None, reader.ending


async def import_records(records: Iterable[Record | Flaw], to: Import, report: ImportReport) -> None:
    """Import records of another format; each entry counts as a line. Raises as ``Import`` does."""
    await to.begin()
    for number, record in enumerate(records, start=1):
        if isinstance(record, Flaw):
            await to.reject(number, f"{record.place}: {record.reason}")
            continue
        try:
            check(record)
        except BadLineError as error:
            await to.reject(number, error.detail, error.id)
        else:
            await to.add(number, memory_line(record))
        report.lines = number
    await to.finish()
    report.end = "holds"
