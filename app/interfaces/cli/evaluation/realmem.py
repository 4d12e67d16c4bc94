"""Reads RealMem's working dialogues: a file for each person, with sessions and the messages that are queries.

A query is a whole message of a later session, and is asked before the first turn of that session, so of nothing but
what came before. The file names the memories that the answer to it has used: their sessions are the evidence, and the
turns from which they were taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.interfaces.cli.evaluation.dataset import DataInvalid
from app.interfaces.cli.evaluation.records import PublishedForm, kind_of, records

EXPECTED = "a JSON object with dialogues, each with session_uuid, current_time, dialogue_turns and extracted_memory"


class _UsedMemory(PublishedForm):
    session_uuid: str | None = None
    content: str = ""


class _ExtractedMemory(PublishedForm):
    content: str
    source_turn: int
    source_content_snapshot: str = ""
    source_role_snapshot: str = ""


class _DialogueTurn(PublishedForm):
    speaker: str
    content: str
    is_query: bool = False
    query_id: str | None = None
    category_name: str | None = None
    memory_used: tuple[_UsedMemory, ...] | None = None
    memory_session_uuids: tuple[str, ...] | None = None


class _Dialogue(PublishedForm):
    session_uuid: str
    current_time: str
    dialogue_turns: tuple[_DialogueTurn, ...]
    extracted_memory: tuple[_ExtractedMemory, ...] = ()


class _Person(PublishedForm):
    dialogues: tuple[_Dialogue, ...]


class _TurnRow(PublishedForm):
    id: str
    session: str
    day: str
    speaker: str
    content: str


class _QueryRow(PublishedForm):
    id: str
    asked_in: str
    query: str
    category: str
    evidence_turns: tuple[str, ...]
    evidence_sessions: tuple[str, ...]


def lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Make a file into one conversation; raises ``DataInvalid``."""
    found = list(records(file))
    if kind_of(found[0][1]) is not None:
        yield file.name, _normalised(found, file.stem)
        return
    for place, record in found:
        yield place, _converted(_Person.of(record, place), file.stem)


def _converted(person: _Person, name: str) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    earlier: dict[str, _Dialogue] = {}
    for dialogue in person.dialogues:
        own = [
            {
                "id": f"{dialogue.session_uuid}:{at}",
                "speaker": turn.speaker,
                "session": dialogue.session_uuid,
                "date": dialogue.current_time.split(" ", 1)[0],
                "text": turn.content,
            }
            for at, turn in enumerate(dialogue.dialogue_turns)
            if turn.content.strip()
        ]
        if own:
            asked = _asked(dialogue, earlier, own[0]["id"], {turn["id"] for turn in turns})
            questions += [{"qid": f"{len(questions) + at}", **each} for at, each in enumerate(asked)]
        turns += own
        earlier[dialogue.session_uuid] = dialogue
    return {"dataset": "realmem", "conv_id": name, "turns": turns, "questions": questions}


def _asked(
    dialogue: _Dialogue, earlier: Mapping[str, _Dialogue], before: str, told: set[str]
) -> Iterator[dict[str, Any]]:
    """Give the queries of a session, with the evidence that was told in earlier sessions."""
    following = (*dialogue.dialogue_turns[1:], None)
    for turn, answer in zip(dialogue.dialogue_turns, following, strict=True):
        if turn.is_query and turn.content.strip():
            used, named = _used(turn if answer is None else answer)
            gold = {_source(memory, earlier) for memory in used} & told
            yield {
                "question": turn.content,
                "gold": sorted(gold),
                "sessions": sorted(named & set(earlier)),
                "category": turn.category_name or "all",
                "before": before,
            }


def _used(answer: _DialogueTurn) -> tuple[Sequence[_UsedMemory], set[str]]:
    """Return the memories that an answer has used, and their sessions."""
    used = answer.memory_used or ()
    return used, {*(answer.memory_session_uuids or ()), *(memory.session_uuid or "" for memory in used)}


def _source(used: _UsedMemory, earlier: Mapping[str, _Dialogue]) -> str:
    """Return the turn from which a memory was taken, "" where the file does not say it.

    The turn whose content is the snapshot's; turns were rewritten after, so that else it is the one with its number,
    which counts from 1, where that is the same speaker's.
    """
    dialogue = earlier.get(used.session_uuid or "")
    extracted = () if dialogue is None else dialogue.extracted_memory
    taken = next((memory for memory in extracted if memory.content == used.content), None)
    if dialogue is None or taken is None:
        return ""
    for at, turn in enumerate(dialogue.dialogue_turns):
        if turn.content.strip() == taken.source_content_snapshot.strip():
            return f"{dialogue.session_uuid}:{at}"
    at = taken.source_turn - 1
    if 0 <= at < len(dialogue.dialogue_turns) and dialogue.dialogue_turns[at].speaker == taken.source_role_snapshot:
        return f"{dialogue.session_uuid}:{at}"
    return ""


def _normalised(found: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    turns = [_TurnRow.of(record, place) for place, record in found if kind_of(record) == "turn"]
    first: dict[str, str] = {}
    for turn in turns:
        first.setdefault(turn.session, turn.id)
    questions = []
    for place, record in found:
        if kind_of(record) != "query":
            continue
        query = _QueryRow.of(record, place)
        if query.asked_in not in first:
            raise DataInvalid(f"{place}: asked_in names the session {query.asked_in!r}, which is not there")
        questions.append(
            {
                "qid": query.id,
                "question": query.query,
                "gold": query.evidence_turns,
                "sessions": query.evidence_sessions,
                "category": query.category,
                "before": first[query.asked_in],
            }
        )
    told = [
        {"id": turn.id, "speaker": turn.speaker, "session": turn.session, "date": turn.day, "text": turn.content}
        for turn in turns
    ]
    return {"dataset": "realmem", "conv_id": name, "turns": told, "questions": questions}
