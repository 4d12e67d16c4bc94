"""Writes the summary of a profile as Markdown: sentences of its memories by kind, each with its day."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from app.domain.memory import Memory
from app.language.dates.days import with_days
from app.services.learning.plain import day, in_markdown, plain
from app.services.learning.reading import MAX_READ, MemorySentence, moment, read

MAX_LINES = 40
MAX_CHARACTERS = 6_000
MAX_MEMORIES = 200
"""Memories that are read at most: the newest."""
MAX_READ_TOGETHER = 30_000
"""Characters of all memories together that are read."""

Section = Literal["holds", "instructions", "tasks", "recently"]
_TITLES: Mapping[Section, str] = {
    "holds": "What holds",
    "instructions": "Instructions",
    "tasks": "Tasks",
    "recently": "Recently",
}
_ROOM: Mapping[Section, int] = {"holds": 13, "instructions": 7, "tasks": 5, "recently": 8}
"""Lines of each section; with titles and the empty lines between them, ``MAX_LINES``."""
_SECTIONS: Mapping[str, Section] = {
    "fact": "holds",
    "instruction": "instructions",
    "task": "tasks",
    "event": "recently",
}
_NO_WORD = re.compile(r"\W+")
_MIN_WORDS = 2
_MAX_SENTENCES = 8
"""Sentences of one memory, each of which is one line."""


def summary(memories: Sequence[Memory]) -> str:
    """Return Markdown of at most ``MAX_LINES`` lines and ``MAX_CHARACTERS`` characters; "" where nothing is known.

    Each memory stands in the section of its kind, the newest first. Memories that hold no longer are left out, and so
    are questions and sentences that a machine said.
    """
    sections: dict[Section, list[MemorySentence]] = {section: [] for section in _TITLES}
    known = set[tuple[Section, str]]()
    for section, sentence in _read(memories):
        if (same := (section, _NO_WORD.sub(" ", sentence.text.casefold()))) not in known:
            known.add(same)
            sections[section].append(sentence)
    return _written({section: list(map(_line, found[:MAX_LINES])) for section, found in sections.items()})


def written(sentences: Iterable[tuple[Memory, str]]) -> str:
    """Return a summary, as ``summary`` does, of a model's sentences, each with the memory of its day and section."""
    sections: dict[Section, list[str]] = {section: [] for section in _TITLES}
    for memory, text in sentences:
        line = f"- {day(moment(memory))}: {in_markdown(plain(text))}"
        sections[_section(memory)].append(line)
    return _written(sections)


def _read(memories: Sequence[Memory]) -> Iterator[tuple[Section, MemorySentence]]:
    """Yield those sentences of the newest memories that may stand in a summary, each with its section."""
    newest = sorted(memories, key=lambda memory: (-moment(memory), memory.id or "", memory.content))
    left = MAX_READ_TOGETHER
    for memory in newest[:MAX_MEMORIES]:
        left -= min(len(memory.content), MAX_READ)
        if left < 0:
            return
        if memory.superseded_at is not None:
            continue
        for sentence in read(memory, most=_MAX_SENTENCES):
            if not sentence.asks and not sentence.by_machine and len(sentence.text.split()) >= _MIN_WORDS:
                yield _section(memory), sentence


def _section(memory: Memory) -> Section:
    return _SECTIONS.get(memory.type or "event", "recently")


def _written(sections: Mapping[Section, Sequence[str]]) -> str:
    """Write the sections that have lines; a section may use the lines that other sections leave free."""
    spare = sum(max(_ROOM[section] - len(found), 0) for section, found in sections.items())
    lines: list[str] = []
    room = MAX_CHARACTERS
    for section, found in sections.items():
        more = min(spare, max(len(found) - _ROOM[section], 0))
        spare -= more
        section_lines: list[str] = []
        for line in found[: _ROOM[section] + more]:
            if len(line) + 1 <= room - len(_TITLES[section]) - 5:
                section_lines.append(line)
                room -= len(line) + 1
        if section_lines:
            title = f"## {_TITLES[section]}"
            room -= len(title) + 2
            lines.extend(([""] if lines else []) + [title, *section_lines])
    return "\n".join(lines)


def _line(sentence: MemorySentence) -> str:
    speaker = in_markdown(sentence.speaker)
    head = f"{day(sentence.happened_at)}, {speaker}" if speaker else day(sentence.happened_at)
    return f"- {head}: {with_days(in_markdown(sentence.text), sentence.happened_at)}"
