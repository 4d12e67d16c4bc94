"""Conversations and the questions about them, read from JSON lines (bench/quality/README.md says in which form)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.limits import CONTENT_BYTES
from app.interfaces.cli.evaluation.dates import rfc3339

_UPDATES = "knowledge_update"
"""BEAM's category of questions whose answer has changed: their evidence are all turns that state it."""


class DataInvalid(Exception):
    """A file cannot be read as a data set; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class ToldMemory:
    """What one turn is stored as."""

    turn_id: str
    content: str
    session_id: str | None
    occurred_at: str | None
    """RFC 3339."""


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question, and the turns that hold its answer: none where there is no answer."""

    qid: str
    text: str
    gold: frozenset[str]
    category: str
    stated: tuple[str, ...] = ()
    """Where the answer has changed: the turns that state it, the oldest first; only the last one holds."""
    told: int | None = None
    """How many memories of its conversation have been told when it is asked; None: all of them."""
    sessions: frozenset[str] = frozenset()
    """The sessions that hold the answer, where the data name them; else they are those of ``gold``."""


@dataclass(frozen=True, slots=True)
class SetConversation:
    """What one agent is told, and asked."""

    dataset: str
    conv_id: str
    memories: tuple[ToldMemory, ...]
    questions: tuple[SetQuestion, ...]
    cut: int
    """Turns that were longer than a memory may be, and lost their end."""
    repeated: int
    """Turns that repeat an earlier one to the letter: stored once, and either counts as found."""
    asked_at: str | None = None
    """When the questions are asked, RFC 3339; None: nobody knows."""

    @property
    def sessions(self) -> dict[str, str]:
        """The session of each turn that has one."""
        return {memory.turn_id: memory.session_id for memory in self.memories if memory.session_id is not None}


def read(paths: Sequence[Path]) -> list[SetConversation]:
    """Read files, and every ``.jsonl`` file of a folder, in the order of their names.

    Raises:
        DataInvalid: a line is not in the form, a conversation comes twice, or there is none at all.
    """
    seen: dict[str, str] = {}
    conversations = []
    for file in _files(paths):
        for place, conversation in _lines(file):
            earlier = seen.setdefault(conversation.conv_id, place)
            if earlier != place:
                raise DataInvalid(f"{place}: the conversation {conversation.conv_id!r} is in {earlier} already")
            conversations.append(conversation)
    if not conversations:
        raise DataInvalid(f"no conversation in {', '.join(str(path) for path in paths)}")
    return conversations


def chosen(conversations: Sequence[SetConversation], conv_ids: Sequence[str]) -> list[SetConversation]:
    """Keep the conversations of these ids; all of them where none is named.

    Raises:
        DataInvalid: an id is not among them.
    """
    missing = set(conv_ids) - {conversation.conv_id for conversation in conversations}
    if missing:
        raise DataInvalid(f"no conversation {', '.join(sorted(missing))}")
    return [conversation for conversation in conversations if not conv_ids or conversation.conv_id in conv_ids]


def conversation(line: Mapping[str, Any], place: str, dataset: str) -> SetConversation:
    """Make a line that is parsed into a conversation; raises ``DataInvalid``, which names the place."""
    with in_form(place):
        return _conversation(_Line.model_validate(line), dataset)


@contextmanager
def in_form(place: str) -> Iterator[None]:
    """Make what shows that data at a place have another form into ``DataInvalid``."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataInvalid(f"{place}: {where + ': ' if where else ''}{first['msg']}") from error
    except ValueError as error:
        raise DataInvalid(f"{place}: {error}") from error


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("*.jsonl"))
        elif path.is_file():
            yield path
        else:
            raise DataInvalid(f"{path} does not exist")


def _lines(file: Path) -> Iterator[tuple[str, SetConversation]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{file.name}:{number}"
            with in_form(place):
                yield place, _conversation(_Line.model_validate_json(line), file.stem)


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Turn(_Form):
    id: str = Field(min_length=1)
    text: str
    speaker: str = ""
    session: str | int | None = None
    date: str | None = None
    caption: str | None = None


class _Question(_Form):
    qid: str = Field(min_length=1)
    question: str = Field(pattern=r"\S")
    gold: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    before: str | None = None
    sessions: tuple[str | int, ...] = ()
    category: str = "all"


class _Line(_Form):
    conv_id: str = Field(min_length=1)
    turns: tuple[_Turn, ...] = Field(min_length=1)
    questions: tuple[_Question, ...]
    dataset: str = ""
    asked_at: str | None = None


@dataclass(slots=True)
class _Told:
    """What is stored of the turns of a line, as far as they have been told."""

    stored: dict[ToldMemory, str] = field(default_factory=dict)
    """Each memory, still without its turn, and the turn that is its own."""
    kept: dict[str, str] = field(default_factory=dict)
    """The turn that each turn is stored as: another one where it repeats that."""
    before: dict[str, int] = field(default_factory=dict)
    """How many memories had been stored before each turn."""
    cut: int = 0

    def add(self, turn: _Turn) -> None:
        """Tell one turn more."""
        content = _content(turn)
        shortened = _shortened(content)
        self.cut += shortened != content
        memory = ToldMemory("", shortened, _session(turn.session), rfc3339(turn.date) if turn.date else None)
        self.before[turn.id] = len(self.stored)
        self.kept[turn.id] = self.stored.setdefault(memory, turn.id)


def _conversation(line: _Line, file: str) -> SetConversation:
    """Make a line into a conversation; raises ValueError where its parts do not fit together."""
    _once("turn", [turn.id for turn in line.turns])
    _once("question", [question.qid for question in line.questions])
    told = _Told()
    for turn in line.turns:
        told.add(turn)
    return SetConversation(
        dataset=line.dataset or file,
        conv_id=line.conv_id,
        memories=tuple(ToldMemory(id_, m.content, m.session_id, m.occurred_at) for m, id_ in told.stored.items()),
        questions=tuple(_question(question, told) for question in line.questions),
        cut=told.cut,
        asked_at=rfc3339(line.asked_at) if line.asked_at else None,
        repeated=len(line.turns) - len(told.stored),
    )


def _once(kind: str, ids: Sequence[str]) -> None:
    twice = sorted({id_ for id_ in ids if ids.count(id_) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise ValueError(f"the {kind} {twice[0]!r} comes twice")


def _question(question: _Question, told: _Told) -> SetQuestion:
    kept = told.kept
    named = {*question.gold, *question.outdated}
    _check_named(question, named, told)
    sessions = frozenset(name for of in question.sessions if (name := _session(of)) is not None)
    changed = question.outdated or question.category == _UPDATES
    return SetQuestion(
        question.qid,
        question.question,
        frozenset(kept[id_] for id_ in question.gold),
        question.category or "all",
        stated=tuple(dict.fromkeys(id_ for turn, id_ in kept.items() if turn in named)) if changed else (),
        told=_asked_after(question, told),
        sessions=sessions,
    )


def _check_named(question: _Question, named: set[str], told: _Told) -> None:
    """Raise ValueError where a turn or a session that a question names is not there."""
    unknown = sorted((named if question.before is None else {*named, question.before}) - set(told.kept))
    if unknown:
        raise ValueError(f"the question {question.qid!r} names the turn {unknown[0]!r}, which is not there")
    sessions = {name for of in question.sessions if (name := _session(of)) is not None}
    if missing := sorted(sessions.difference(memory.session_id or "" for memory in told.stored)):
        raise ValueError(f"the question {question.qid!r} names the session {missing[0]!r}, which is not there")


def _asked_after(question: _Question, told: _Told) -> int | None:
    """Return how many memories are told when it is asked; None: all, as none is told after the turn that it names."""
    if question.before is None or told.before[question.before] == len(told.stored):
        return None
    after = told.before[question.before]
    late = sorted(id_ for id_ in {*question.gold, *question.outdated} if told.before[told.kept[id_]] >= after)
    if late:
        raise ValueError(f"the question {question.qid!r} is asked before the turn {late[0]!r} that it names")
    return after


def _content(turn: _Turn) -> str:
    text = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
    content = f"{text} [{turn.caption}]" if turn.caption else text
    if not content.strip():
        raise ValueError(f"the turn {turn.id!r} says nothing")
    return content


def _shortened(content: str) -> str:
    """Cut to what a memory may hold, so that every service is given the same."""
    return content.encode()[:CONTENT_BYTES].decode(errors="ignore")


def _session(name: str | int | None) -> str | None:
    return None if name is None or name == "" else str(name)
