"""Writes what is known of somebody as Markdown: the sentences of memories by their kind, each with its day."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from app.domain.claim import AS_SAID, MemoryType
from app.services.answer.asking import stems_asked
from app.services.answer.dating import with_days
from app.services.answer.holding import Stated, ends
from app.services.answer.plain import day, in_markdown, plain
from app.services.answer.reading import MAX_READ, Said, Told, moment, said_in
from app.services.answer.wording import Stems, Wording, wording_of
from app.statements.rules import Statement
from app.statements.tokens import tokens

MAX_LINES = 40
MAX_CHARACTERS = 6_000
MAX_MEMORIES = 200
"""No more memories are read: the newest."""
MAX_READ_TOGETHER = 30_000
"""Characters of all memories together that are read."""

_T = TypeVar("_T")

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
_MIN_WORDS = 2
_MAX_TASKS = 40
_DONE_SHARE = 0.6
"""A task is done if a later sentence that says so has so much of its words."""


class Kept(Told, Protocol):
    """A memory, of which it is known whether it holds."""

    @property
    def superseded_at(self) -> int | None:
        """When what replaced it was said; None: it holds, or states nothing of which one value holds at a time."""

    @property
    def type(self) -> MemoryType | None:
        """What it is, by what it states; None: that was not read yet."""


@dataclass(frozen=True, slots=True)
class _Sorted:
    said: Said
    statement: Statement
    wording: Wording


def summary(memories: Sequence[Kept], *, reference_time: int) -> str:
    """Return Markdown of at most ``MAX_LINES`` lines and ``MAX_CHARACTERS`` characters; "" where nothing is known.

    Statements that no longer hold are left out, and so are questions, what a machine said, and tasks that are done.
    ``reference_time`` is now, ms since the epoch.
    """
    found = _read(memories)
    stated: Stated = {each.said: each.statement for each in found}
    ended = ends(stated, reference_time)
    current = sorted((each for each in found if each.said not in ended), key=lambda each: each.said.order)
    sections = _sorted(current)
    sections["holds"].sort(key=lambda each: each.statement.key is None)  # keyed facts first, each the newest first
    sections["tasks"] = _open(sections["tasks"], current)
    return _written(sections, _line)


def written(told: Iterable[tuple[Kept, str]]) -> str:
    """Return the same of sentences that were made of memories, each with the memory that tells its day and section."""
    sections: dict[Section, list[str]] = {section: [] for section in _TITLES}
    for memory, text in told:
        line = f"- {day(moment(memory))}: {in_markdown(plain(text))}"
        sections[_SECTIONS.get(memory.type or "event", "recently")].append(line)
    return _written(sections, str)


def _sorted(newest_first: Iterable[_Sorted]) -> dict[Section, list[_Sorted]]:
    """Put each sentence where it belongs, if nothing newer there says the same, or the same of the same key."""
    sections: dict[Section, list[_Sorted]] = {section: [] for section in _TITLES}
    known = set[object]()
    for each in newest_first:
        section = _section(each)
        same: set[object] = {(section, each.said.words)}
        if each.statement.key and each.statement.value != AS_SAID:
            same.add((each.statement.key, each.statement.value))
        if known.isdisjoint(same):
            sections[section].append(each)
        known |= same
    return sections


def _read(memories: Sequence[Kept]) -> list[_Sorted]:
    """Return the sentences of the newest memories with what they state, those that may stand in a summary."""
    newest = sorted(memories, key=lambda memory: (-moment(memory), memory.id or "", memory.content))
    found: list[_Sorted] = []
    left = MAX_READ_TOGETHER
    for memory in newest[:MAX_MEMORIES]:
        left -= min(len(memory.content), MAX_READ)
        if left < 0:
            break
        wording = wording_of(tokens(memory.content[:500]))
        spoken = () if memory.superseded_at is not None else said_in(memory, Stems(wording))
        found.extend(
            _Sorted(said, statement, wording)
            for said, statement in spoken
            if not said.asks and not said.origin.by_machine and len(said.text.split()) >= _MIN_WORDS
        )
    return found


def _section(each: _Sorted) -> Section:
    """Return where a sentence belongs; what sets a fact is one, in whatever form: "use pnpm from now on"."""
    return "holds" if each.statement.key else _SECTIONS[each.statement.type]


def _open(tasks: Sequence[_Sorted], sentences: Iterable[_Sorted]) -> list[_Sorted]:
    """Return the newest tasks of which no later sentence says that they are done."""
    done = [each.said for each in sentences if each.statement.type != "task" and _tells_an_end(each)]
    return [task for task in tasks[:_MAX_TASKS] if not _is_done(task, done)]


def _tells_an_end(each: _Sorted) -> bool:
    return not each.wording.words["done"].isdisjoint(tokens(each.said.text))


def _is_done(task: _Sorted, done: Iterable[Said]) -> bool:
    words = {stem for term in stems_asked(task.said.text, task.wording) for stem in term}
    since = task.said.origin.happened_at
    return any(
        said.origin.happened_at >= since and len(words & said.words) >= _DONE_SHARE * len(words) for said in done
    )


def _written(sections: Mapping[Section, Sequence[_T]], as_line: Callable[[_T], str]) -> str:
    """Write the sections that hold anything; each may use the lines that others leave."""
    spare = sum(max(_ROOM[section] - len(found), 0) for section, found in sections.items())
    lines: list[str] = []
    room = MAX_CHARACTERS
    for section, found in sections.items():
        more = min(spare, max(len(found) - _ROOM[section], 0))
        spare -= more
        kept: list[str] = []
        for each in found[: _ROOM[section] + more]:
            line = as_line(each)
            if len(line) + 1 <= room - len(_TITLES[section]) - 5:
                kept.append(line)
                room -= len(line) + 1
        if kept:
            title = f"## {_TITLES[section]}"
            room -= len(title) + 2
            lines.extend(([""] if lines else []) + [title, *kept])
    return "\n".join(lines)


def _line(each: _Sorted) -> str:
    said = each.said
    head = (
        f"{day(said.origin.happened_at)}, {in_markdown(said.origin.speaker)}"
        if said.origin.speaker
        else day(said.origin.happened_at)
    )
    return f"- {head}: {with_days(in_markdown(plain(said.text)), said.origin.happened_at)}"
