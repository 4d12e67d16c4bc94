"""Reads BEAM's chats: folders with ``chat.json`` and ``probing_questions/probing_questions.json``."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from app.interfaces.cli.evaluation.dataset import DataInvalid, in_form
from app.interfaces.cli.evaluation.records import PublishedForm, records

EXPECTED = "a folder, such as chats/100K, of chat.json files, each with its probing_questions/probing_questions.json"
_CHAT, _QUESTIONS = "chat.json", Path("probing_questions", "probing_questions.json")
_MARK, _IN_MARK = "->->", frozenset("0123456789, \t\r\n")
"""The end of a user's message that is not its text, but its place in the plan of the chat."""


class _ChatMessage(PublishedForm):
    id: int
    role: str
    content: str
    time_anchor: str | None = None


class _Batch(PublishedForm):
    turns: tuple[tuple[_ChatMessage, ...], ...]
    batch_number: int | None = None
    time_anchor: str | None = None


class _Probe(PublishedForm):
    question: str
    source_chat_ids: Any = None
    """Ids of messages, in lists and objects of the question's own form."""


_Probes = TypeAdapter(dict[str, tuple[_Probe, ...]])


def _without_mark(content: str) -> str:
    text, mark, end = content.rpartition(_MARK)
    return text if mark and end.strip() and _IN_MARK.issuperset(end) else content


def lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Make each chat into a conversation; raises ``DataInvalid``."""
    chats = [file] if file.name == _CHAT else sorted(file.rglob(_CHAT), key=_order)
    if not chats:
        raise DataInvalid(f"{file} has no {_CHAT}")
    for chat in chats:
        place = f"{chat.parent.name}/{chat.name}"
        asked = chat.parent / _QUESTIONS
        if not asked.is_file():
            raise DataInvalid(f"{place}: there is no {_QUESTIONS} beside it")
        yield place, _converted(chat, asked)


def _order(chat: Path) -> tuple[int, str]:
    name = chat.parent.name
    return (int(name) if name.isdigit() else 0, str(chat))


def _converted(chat: Path, asked: Path) -> dict[str, Any]:
    folder = chat.parent.name
    turns = list(_turns([_Batch.of(record, f"{folder}/{place}") for place, record in records(chat)]))
    often = Counter(turn["id"] for turn in turns)
    with in_form(f"{folder}/{_QUESTIONS}"):
        ((_, record),) = records(asked)
        probes = _Probes.validate_python(record)
    questions = [
        {
            "qid": f"{folder}/{category}{number}",
            "question": probe.question,
            "gold": _gold(category, probe, often),
            "category": category,
        }
        for category, of in probes.items()
        for number, probe in enumerate(of)
    ]
    # An id that comes twice names no turn; such turns are told under ids of their own.
    told = [turn if often[turn["id"]] == 1 else {**turn, "id": f"{turn['id']}.{at}"} for at, turn in enumerate(turns)]
    return {"dataset": "beam", "conv_id": f"beam-{folder}", "turns": told, "questions": questions}


def _gold(category: str, probe: _Probe, often: Counter[str]) -> list[str]:
    named = () if category == "abstention" else dict.fromkeys(f"m{id_}" for id_ in _ids(probe.source_chat_ids))
    return [turn for turn in named if often[turn] == 1]


def _turns(batches: list[_Batch]) -> Iterator[dict[str, Any]]:
    for number, batch in enumerate(batches, 1):
        date = batch.time_anchor
        for message in (each for turn in batch.turns for each in turn):
            date = message.time_anchor or date
            if text := _without_mark(message.content).strip():
                session = batch.batch_number or number
                yield {"id": f"m{message.id}", "speaker": message.role, "session": session, "date": date, "text": text}


def _ids(named: object) -> Iterator[int]:
    if isinstance(named, int) and not isinstance(named, bool):
        yield named
    elif isinstance(named, list | dict):
        for each in named.values() if isinstance(named, dict) else named:
            yield from _ids(each)
