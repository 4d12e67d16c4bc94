"""Divides a conversation into the parts that a model reads at once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.domain.learned import Pass, PassKind
from app.services.learning.transcript import TranscriptLine

CHUNK = 10_000
"""Characters that a full pass reads at most, beside its overlap; and the most that any call reads of one message."""
WINDOW = 5_000
"""Characters that a detail pass reads at most, beside its overlap; a longer message is a window of its own."""
OVERLAP = 2
"""Messages before a part that are read with that part."""
DETAIL_FROM = 9
"""Messages from which on there are detail passes."""
OVERLAP_CHARACTERS = 1_000
"""Characters that are read of a message of the overlap at most, from its end."""
_HEADING = 40
"""Characters that a line has beside its text, about."""
_PARTS_OVERLAP = 200
"""Characters that two parts of a message have in common, so that a sentence at the cut is whole in one of them."""
_TO_SPACE = _PARTS_OVERLAP // 2
_SPACE = re.compile(r"\s+")


def plan(messages: Sequence[tuple[str, int]], before: Sequence[tuple[str, int]] = ()) -> list[Pass]:
    """Return the passes over messages, each an id and a number of characters, in the order in which they were said.

    ``before``: messages of the session that are memories already. Only lengths are held: contents are read later, pass
    by pass.
    """
    ids = [id_ for id_, _ in (*before[-OVERLAP:], *messages)]
    known = len(ids) - len(messages)
    lengths = [length for _, length in messages]
    kinds: list[tuple[PassKind, int]] = [("extract", CHUNK)]
    if len(messages) >= DETAIL_FROM:
        kinds.append(("detail", WINDOW))
    passes: list[Pass] = []
    for kind, size in kinds:
        for first, last in _parts(lengths, size):
            begin = max(0, known + first - OVERLAP)
            context = known + first - begin
            passes.append(Pass(len(passes), kind, ids[begin : known + last], context))
    return passes


def _parts(lengths: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield the number of the first message of each part, and that after its last; each part has a message at least."""
    first = room = 0
    for place, length in enumerate(lengths):
        needed = length + _HEADING
        if place > first and needed > room:
            yield first, place
            first = place
        room = (size if first == place else room) - needed
    if lengths:
        yield first, len(lengths)


def readings(lines: Sequence[TranscriptLine]) -> Iterator[list[TranscriptLine]]:
    """Yield the lines of a pass that are read in one call: all lines, unless a message is longer than ``CHUNK``.

    The parts of such a message keep its number, and the context lines are read with each part. Lines of the role
    "system" are not read by themselves.
    """
    context = [_end_of(line) for line in lines if line.context]
    new = [part for line in lines if not line.context for part in _divided(line)]
    for first, last in _parts([len(line.content) for line in new], CHUNK + _HEADING):
        if any(line.role != "system" for line in new[first:last]):
            yield [*context, *new[first:last]]


def _end_of(line: TranscriptLine) -> TranscriptLine:
    text = line.content
    return line if len(text) <= OVERLAP_CHARACTERS else replace(line, content="… " + text[-OVERLAP_CHARACTERS:])


def _divided(line: TranscriptLine) -> Iterator[TranscriptLine]:
    """Yield the parts of a line, about equally long; a line that is short enough is its only part."""
    text, length = line.content, len(line.content)
    if length <= CHUNK:
        yield line
        return
    number = -(-(length - _PARTS_OVERLAP) // (CHUNK - _PARTS_OVERLAP))
    step = -(-(length - _PARTS_OVERLAP) // number)
    for begin in range(0, length - _PARTS_OVERLAP, step):
        end = begin + step + _PARTS_OVERLAP
        first = _space(text, begin, begin + _TO_SPACE) if begin else 0
        last = _space(text, end - _TO_SPACE, end) if end < length else length
        yield replace(line, content=text[first:last])


def _space(text: str, first: int, last: int) -> int:
    """Return the place between two places at which a word begins, so that no word is cut; without one, the middle."""
    found = _SPACE.search(text, first, last)
    return found.end() if found else (first + last) // 2
