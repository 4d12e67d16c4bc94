"""Reads memories as sentences, each with the words by which things are found in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.author import speaker_of
from app.domain.json_types import Json
from app.domain.words import WORD, normalised, words
from app.language.sentences import MAX_SENTENCES, sentences
from app.services.answer.plain import name, plain
from app.services.answer.wording import Stems, Wording

MAX_READ = 4_000
"""Characters of a memory that are read."""

_MACHINES = frozenset(("assistant", "system", "program", "tool", "bot", "ai"))
_WORD = re.compile(WORD)
_LIST_MARK = re.compile(r"(?:[-*+\u2022>]\s+|#{1,6}\s+){1,4}")
_MAX_TOGETHER = 2_000
_SHORT, _BEFORE = 25, 160
"""Characters of a short sentence, and of the one before it that are read with it."""


class Told(Protocol):
    """What is read of a memory or of an entry of a recall."""

    @property
    def id(self) -> str | None:
        """Its id."""

    @property
    def content(self) -> str:
        """What it says."""

    @property
    def metadata(self) -> Mapping[str, Json]:
        """Its metadata, which may name the speaker."""

    @property
    def created_at(self) -> int:
        """When it was stored, ms since the epoch."""

    @property
    def occurred_at(self) -> int | None:
        """When what it says happened, where the store said so."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The memory that a sentence stands in, as far as an answer tells of it."""

    memory_id: str
    speaker: str
    """"" where the memory names none."""
    called: frozenset[str]
    """The stems of its speaker's name."""
    score: float
    happened_at: int
    """ms since the epoch: of what the memory speaks, or else when it was stored."""
    dated: bool
    """Whether the store said when it happened."""

    @classmethod
    def of(cls, memory: Told, speaker: str, score: float, stems: Stems) -> "Origin":
        """Make it of a memory, its speaker and its score."""
        shown = name(speaker)
        called = frozenset(map(stems.__getitem__, spelled(shown)))
        dated = memory.occurred_at is not None
        return cls(memory.id or "", shown, called, score, moment(memory), dated)

    @property
    def by_machine(self) -> bool:
        """Whether a machine says it."""
        return self.speaker.casefold() in _MACHINES


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a memory."""

    origin: Origin
    text: str
    """In one line."""
    place: int
    """Which sentence of the memory it is, from 0."""
    words: frozenset[str]
    """The stems of its words."""
    context: str
    """What a reader reads of it: the sentence, and where it is short the one before it, on which it may lean."""

    @property
    def order(self) -> tuple[int, str, int]:
        """What decides between equals: the newer first."""
        return -self.origin.happened_at, self.origin.memory_id, self.place

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip(" \"'\u201d\u00bb)").endswith(("?", "\uff1f", "\u061f"))


def moment(memory: Told) -> int:
    """Return of when a memory speaks, or else when it was stored, ms since the epoch."""
    return memory.created_at if memory.occurred_at is None else memory.occurred_at


def read(memory: Told, stems: Stems, language: str, score: float = 0.0, most: int = MAX_SENTENCES) -> Sequence[Said]:
    """Return the sentences of a memory, at most so many, of its first ``MAX_READ`` characters."""
    content = memory.content[:MAX_READ]
    named = speaker_of(content, memory.metadata)
    start = _spoken_from(content, named)
    places = [(one.start, one.end) for one in sentences(content, language, start)[:most]]
    return list(_said(content, places, Origin.of(memory, named, score, stems), stems))


def _said(content: str, places: Sequence[tuple[int, int]], origin: Origin, stems: Stems) -> Iterator[Said]:
    before = ""
    for place, (begin, end) in enumerate(places):
        text = plain(_unlisted(content[begin:end]))
        if text:
            words = frozenset(map(stems.__getitem__, spelled(text)))
            leans = len(text) <= _SHORT
            yield Said(origin, text, place, words, f"{before[-_BEFORE:]} {text}".strip() if leans else text)
            before = text


def _unlisted(text: str) -> str:
    """Return a sentence without what marks it as a heading or an item of a list."""
    mark = _LIST_MARK.match(text)
    return text[mark.end() :] if mark else text


def spelled(text: str) -> Iterator[str]:
    """Give the words of a text as a search looks for them."""
    for found in _WORD.findall(normalised(text).lower().replace("_", " ")):
        if found.isascii():
            yield found
        else:
            yield from words(found)


def sentences_of(memories: Sequence[tuple[Told, float]], wording: Wording) -> list[Said]:
    """Return the sentences of several memories, each with its score; of many memories fewer of each."""
    stems = Stems(wording)
    most = max(_MAX_TOGETHER // max(len(memories), 1), 1)
    return [said for memory, score in memories for said in read(memory, stems, wording.code, score, most)]


def _spoken_from(content: str, speaker: str) -> int:
    """Return where the words begin, after a "Name: " as in a transcript."""
    begin = len(content) - len(content.lstrip())
    end = begin + len(speaker.strip())
    said = speaker.strip() and content[begin:end].casefold() == speaker.strip().casefold()
    return end + 1 if said and content[end : end + 1] == ":" else begin
