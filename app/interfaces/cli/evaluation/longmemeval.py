"""Reads LongMemEval's files: a list of instances, each a question and the sessions that it is asked of.

Each instance becomes a conversation with one question (https://github.com/xiaowu0162/LongMemEval). Those whose id ends
with ``_abs`` have no answer.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.interfaces.cli.evaluation.dataset import in_form
from app.interfaces.cli.evaluation.records import PublishedForm, records

EXPECTED = "a JSON list of instances with question_id, question, haystack_sessions and answer_session_ids"
_ABSTAINED = "_abs"


class _HistoryTurn(PublishedForm):
    role: str
    content: str
    has_answer: bool | None = None


class _Instance(PublishedForm):
    question_id: str
    question_type: str
    question: str
    question_date: str
    haystack_session_ids: tuple[str, ...]
    haystack_dates: tuple[str, ...]
    haystack_sessions: tuple[tuple[_HistoryTurn, ...], ...]
    answer_session_ids: tuple[str, ...]


def lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Make each instance into a conversation; raises ``DataInvalid``."""
    for place, record in records(file):
        instance = _Instance.of(record, place)
        with in_form(place):
            line = _converted(instance)
        yield place, line


def _converted(instance: _Instance) -> dict[str, Any]:
    turns = list(_turns(instance))
    answered = not instance.question_id.endswith(_ABSTAINED)
    told = {turn["session"] for turn, _ in turns}
    question = {
        "qid": instance.question_id,
        "question": instance.question,
        "gold": [turn["id"] for turn, answers in turns if answers and answered],
        "sessions": sorted(told.intersection(instance.answer_session_ids)) if answered else [],
        "category": instance.question_type if answered else "abstention",
    }
    return {
        "dataset": "longmemeval",
        "conv_id": instance.question_id,
        "asked_at": instance.question_date,
        "turns": [turn for turn, _ in turns],
        "questions": [question],
    }


def _turns(instance: _Instance) -> Iterator[tuple[dict[str, Any], bool]]:
    """Give the turns that say something, in the order of the sessions, and whether each is evidence."""
    ids, dates, sessions = instance.haystack_session_ids, instance.haystack_dates, instance.haystack_sessions
    if not len(ids) == len(dates) == len(sessions):
        raise ValueError(f"there are {len(sessions)} haystack_sessions, {len(ids)} ids and {len(dates)} dates of them")
    named = zip(ids, dates, sessions, strict=True)
    for place, (session, date, turns) in enumerate(named):
        for number, turn in enumerate(turns):
            if turn.content.strip():
                told = {"speaker": turn.role, "session": session, "date": date, "text": turn.content}
                yield {"id": f"{place}:{number}", **told}, bool(turn.has_answer)
