"""Reads memories as sentences."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.author import speaker_of
from app.domain.json_types import Json
from app.language.sentences import MAX_SENTENCES, sentences
from app.services.learning.plain import name, plain

MAX_READ = 4_000
"""Characters of a memory that are read."""

_MACHINES = frozenset(("assistant", "system", "program", "tool", "bot", "ai"))
_LIST_MARK = re.compile(r"(?:[-*+\u2022>]\s+|#{1,6}\s+){1,4}")
_SHORT, _BEFORE = 25, 160
"""Characters that a short sentence has at most, and those of the sentence before that are read with it."""


class ReadableMemory(Protocol):
    """The fields that are read of a memory, of an entry of a recall or of a candidate."""

    @property
    def id(self) -> str | None:
        """Its id."""

    @property
    def content(self) -> str:
        """Its text."""

    @property
    def metadata(self) -> Mapping[str, Json]:
        """Its metadata, which may name the speaker."""

    @property
    def created_at(self) -> int:
        """When it was stored, ms since the epoch."""

    @property
    def occurred_at(self) -> int | None:
        """When its event happened, ms since the epoch; None where the store did not say so."""

    @property
    def session_id(self) -> str | None:
        """The session in which it was said, or None."""


class Former(ReadableMemory, Protocol):
    """A memory that held before another memory came in its place."""

    @property
    def until(self) -> int | None:
        """When it stopped holding, ms since the epoch; None: the moment is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class MemorySentence:
    """A sentence of a memory. Two are never equal, even with the same fields."""

    memory: ReadableMemory
    speaker: str
    """The speaker's name; "" where the memory names none."""
    text: str
    """The sentence in one line."""
    place: int
    """The sentence's number in the memory, from 0."""
    context: str
    """The text that a reader reads: the sentence, and before a short one the sentence on which it may lean."""

    @property
    def memory_id(self) -> str:
        """The id of its memory."""
        return self.memory.id or ""

    @property
    def happened_at(self) -> int:
        """The moment of which it speaks, ms since the epoch."""
        return moment(self.memory)

    @property
    def by_machine(self) -> bool:
        """Whether a machine says it."""
        return self.speaker.casefold() in _MACHINES

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip(" \"'\u201d\u00bb)").endswith(("?", "\uff1f", "\u061f"))


def moment(memory: ReadableMemory) -> int:
    """Return the moment of which a memory speaks, or else the moment at which it was stored, ms since the epoch."""
    return memory.created_at if memory.occurred_at is None else memory.occurred_at


def until(former: Former) -> int:
    """Return when a former memory stopped holding, ms since the epoch; where that is not known, its own moment."""
    return moment(former) if former.until is None else former.until


def read(memory: ReadableMemory, most: int = MAX_SENTENCES) -> Sequence[MemorySentence]:
    """Return the sentences of a memory, at most ``most``, of its first ``MAX_READ`` characters."""
    content = memory.content[:MAX_READ]
    named = speaker_of(content, memory.metadata)
    speaker = name(named)
    found: list[MemorySentence] = []
    for place, written in enumerate(sentences(content, start=_spoken_from(content, named))[:most]):
        mark = _LIST_MARK.match(written)  # of a heading or an item of a list
        if text := plain(written[mark.end() :] if mark else written):
            before = found[-1].text if found and len(text) <= _SHORT else ""
            found.append(MemorySentence(memory, speaker, text, place, f"{before[-_BEFORE:]} {text}".strip()))
    return found


def _spoken_from(content: str, speaker: str) -> int:
    """Return the place at which the statement begins, after a "Name: " as in a transcript."""
    begin = len(content) - len(content.lstrip())
    end = begin + len(speaker.strip())
    sentence = speaker.strip() and content[begin:end].casefold() == speaker.strip().casefold()
    return end + 1 if sentence and content[end : end + 1] == ":" else begin
