"""Reads a labelled set: conversations, and questions about them with what a right answer says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain import limits
from app.domain.errors import ConfigurationError
from app.domain.messages import NewMessage, Role
from app.domain.moments import milliseconds, parse_moment_or_day
from app.interfaces.cli.golden_file import LabelledQuestion

_SPOKEN = re.compile(r"\d{1,2}:\d{2} [ap]m on \d{1,2} [A-Z][a-z]+, \d{4}")
_SPEAKING_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """A message of a conversation."""

    id: str
    session_id: str
    message: NewMessage


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and what is right."""

    id: str
    text: str
    category: str
    gold: frozenset[str]
    """The turns that hold the answer; empty where nothing answers it, and "" is right."""
    expected: Sequence[Sequence[str]]
    """What a right answer says: of each, one of the alternatives; empty where only the evidence is labelled."""


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    """What one profile is told, and asked."""

    id: str
    turns: Sequence[LabelledTurn]
    questions: Sequence[Labelled]
    asked_at: int | None
    """When the questions are asked (ms since the epoch); None: now."""


def read_labelled(files: Sequence[Path], *, sealed: bool = False) -> list[LabelledConversation]:
    """Read JSON lines, a conversation each; with ``sealed`` also the questions that are kept aside.

    Raises:
        ConfigurationError: a line has not the form, or there is nothing to ask; the message names file and line.
    """
    found: list[LabelledConversation] = []
    for file in files:
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                found.append(_conversation(_LabelledLine.model_validate_json(line), sealed=sealed))
            except ValidationError as error:
                first = error.errors(include_input=False)[0]
                where = ".".join(map(str, first["loc"]))
                raise ConfigurationError(f"{file}:{number}: {where}: {first['msg']}") from error
            except ValueError as error:
                raise ConfigurationError(f"{file}:{number}: {error}") from error
    asked = [conversation for conversation in found if conversation.questions]
    if not asked:
        raise ConfigurationError(f"There are no questions in {', '.join(map(str, files))}.")
    if len({conversation.id for conversation in asked}) < len(asked):
        raise ConfigurationError("Two conversations have one conv_id.")
    return asked


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Turn(_Form):
    id: str = Field(min_length=1)
    text: str = Field(pattern=r"\S")
    speaker: str = "user"
    session: str | int = "1"
    date: str | None = None
    caption: str = ""


class _Question(LabelledQuestion):
    sealed: bool = False


class _LabelledLine(_Form):
    conv_id: str = Field(pattern=rf"^{limits.ID_FORM}$")
    turns: tuple[_Turn, ...] = Field(min_length=1)
    questions: tuple[_Question, ...]
    asked_at: str | None = None


def _conversation(line: _LabelledLine, *, sealed: bool) -> LabelledConversation:
    """Make a line into a conversation; raises ValueError where its parts do not fit together."""
    turns = [_turn(turn) for turn in line.turns]
    known = {turn.id for turn in turns}
    if len(known) < len(turns):
        raise ValueError("two turns have one id")
    questions = [_question(each, known) for each in line.questions if sealed or not each.sealed]
    asked_at = None if line.asked_at is None else _moment(line.asked_at)
    return LabelledConversation(line.conv_id, turns, questions, asked_at)


def _turn(turn: _Turn) -> LabelledTurn:
    role = _SPEAKING_ROLES.get(turn.speaker)
    text = turn.text if role is not None else f"{turn.speaker}: {turn.text}"
    content = f"{text} [{turn.caption}]" if turn.caption else text
    said_at = None if turn.date is None else _moment(turn.date)
    return LabelledTurn(turn.id, str(turn.session), NewMessage(role or "user", content, said_at))


def _question(question: _Question, known: set[str]) -> Labelled:
    unknown = sorted(set(question.gold) - known)
    if unknown:
        raise ValueError(f"the question {question.qid!r} names the turn {unknown[0]!r}, which is not there")
    gold = frozenset(question.gold)
    return Labelled(question.qid, question.question, question.category, gold, question.alternatives)


def _moment(text: str) -> int:
    """Read a timestamp (RFC 3339), a day, or a moment as LoCoMo writes it, in UTC; raises ValueError."""
    match = _SPOKEN.fullmatch(text)
    if match is None:
        return milliseconds(parse_moment_or_day(text))
    return milliseconds(datetime.strptime(f"{text} +0000", "%I:%M %p on %d %B, %Y %z"))


def sessions(conversation: LabelledConversation) -> Iterator[tuple[str, list[LabelledTurn]]]:
    """Give the turns of each session in their order, at most as many at once as an ingestion takes."""
    by_session: dict[str, list[LabelledTurn]] = {}
    for turn in conversation.turns:
        by_session.setdefault(turn.session_id, []).append(turn)
    for session_id, turns in by_session.items():
        for start in range(0, len(turns), limits.MAX_MESSAGES):
            yield session_id, turns[start : start + limits.MAX_MESSAGES]
