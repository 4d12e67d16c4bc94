"""The rules that the data set keeps."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from bench.quality.mixed.assemble import Conversation, Question, Turn

CATEGORIES: Mapping[str, int] = {
    "single": 50,
    "month": 30,
    "date": 12,
    "relative": 6,
    "person": 20,
    "place": 10,
    "multi": 14,
    "change": 8,
    "off-topic": 12,
    "near-topic": 8,
}
_MEMORIES = 2200
_ALONE = (0.33, 0.37)
_SEVERAL = (2, 5)
_KINDS: Mapping[str, str] = {"c": "calendar", "s": "sms", "n": "note", "h": "chat"}
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH_NAMED = re.compile(r"\b(?:in|In|by|By) (" + "|".join(_MONTHS) + r")\b|\b(" + "|".join(_MONTHS) + r")'s\b")
_SESSION_TURNS: Mapping[str, tuple[int, int]] = {"s": (1, 6), "h": (6, 20)}


def problems(conversation: Conversation) -> list[str]:
    """Say in which ways the data set breaks its rules: an empty list where it breaks none."""
    turns, questions = conversation["turns"], conversation["questions"]
    return [
        *_counted(turns, questions),
        *_twice("id", [turn["id"] for turn in turns]),
        *_twice("text", [turn["text"] for turn in turns]),
        *_twice("qid", [question["qid"] for question in questions]),
        *_twice("question", [question["question"] for question in questions]),
        *_dated(turns),
        *_sessions(turns),
        *_evidence(turns, questions),
    ]


def counts(conversation: Conversation) -> list[str]:
    """Count memories and evidence by kind, and questions by category and month."""
    turns, questions = conversation["turns"], conversation["questions"]
    gold = [id_ for question in questions for id_ in question["gold"]]
    months = Counter(_month(question) for question in questions if question["category"] == "month")
    return [
        f"memories {len(turns)} {_by_kind([turn['id'] for turn in turns])}",
        f"without a session {1 - sum('session' in turn for turn in turns) / len(turns):.1%}",
        f"sessions {len({turn['session'] for turn in turns if 'session' in turn})}",
        f"questions {len(questions)} {dict(Counter(question['category'] for question in questions))}",
        f"evidence {len(gold)} {_by_kind(gold)}",
        f"months {dict(sorted(months.items()))}",
    ]


def _by_kind(ids: list[str]) -> dict[str, int]:
    return {name: sum(id_[0] == letter for id_ in ids) for letter, name in _KINDS.items()}


def _counted(turns: list[Turn], questions: list[Question]) -> Iterator[str]:
    if len(turns) < _MEMORIES:
        yield f"{len(turns)} memories are too few"
    alone = 1 - sum("session" in turn for turn in turns) / len(turns)
    if not _ALONE[0] <= alone <= _ALONE[1]:
        yield f"{alone:.1%} of the memories are without a session"
    found = Counter(question["category"] for question in questions)
    for category in sorted(CATEGORIES.keys() | found.keys()):
        if found[category] != CATEGORIES.get(category, 0):
            yield f"{found[category]} questions of {category}, not {CATEGORIES.get(category, 0)}"


def _twice(what: str, values: list[str]) -> Iterator[str]:
    for value, number in Counter(values).items():
        if number > 1:
            yield f"the {what} {value!r} comes {number} times"


def _dated(turns: list[Turn]) -> Iterator[str]:
    for earlier, later in pairwise(turns):
        if earlier["date"] > later["date"]:
            yield f"{later['id']} comes before {earlier['id']}"
    for turn in turns:
        if not "2025-06-01T00:00:00Z" <= turn["date"] <= "2026-05-31T23:59:59Z":
            yield f"{turn['id']} is dated {turn['date']}, which is outside the year"


def _sessions(turns: list[Turn]) -> Iterator[str]:
    sessions: dict[str, list[Turn]] = {}
    for turn in turns:
        together = turn["id"][0] in _SESSION_TURNS
        if together != ("session" in turn) or together != ("speaker" in turn):
            yield f"{turn['id']} and its session or speaker do not fit together"
        if "session" in turn:
            sessions.setdefault(turn["session"], []).append(turn)
    for name, members in sessions.items():
        low, high = _SESSION_TURNS[members[0]["id"][0]]
        if not low <= len(members) <= high:
            yield f"the session {name} has {len(members)} turns"
        if len({turn["id"][0] for turn in members}) > 1 or len({turn["date"][:10] for turn in members}) > 1:
            yield f"the session {name} is of two kinds or days"
        if any(earlier["date"] >= later["date"] for earlier, later in pairwise(members)):
            yield f"the session {name} has two turns at one time"


def _evidence(turns: list[Turn], questions: list[Question]) -> Iterator[str]:
    dates = {turn["id"]: turn["date"] for turn in turns}
    for question in questions:
        gold, category = question["gold"], question["category"]
        if (category in {"off-topic", "near-topic"}) == bool(gold):
            yield f"{question['qid']} has {len(gold)} memories of evidence"
        if category == "multi" and not _SEVERAL[0] <= len(gold) <= _SEVERAL[1]:
            yield f"{question['qid']} wants several, and has {len(gold)} memories of evidence"
        yield from (f"{question['qid']} names {id_}, which is not there" for id_ in gold if id_ not in dates)
        if category == "month" and {int(dates.get(id_, "0000-00")[5:7]) for id_ in gold} != {_month(question)}:
            yield f"{question['qid']} has evidence outside its month: {question['question']}"


def _month(question: Question) -> int:
    match = _MONTH_NAMED.search(question["question"])
    return _MONTHS.index(match[1] or match[2]) + 1 if match else 0
