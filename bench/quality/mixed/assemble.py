"""Puts stories and noise in the order of their dates, gives ids, and makes the one JSON line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TypedDict

from bench.quality.mixed.memory import ASKED_AT, KINDS, Ask, Draft, Kind, StoryInvalid
from bench.quality.mixed.noise import compose
from bench.quality.mixed.stories import read_stories

FOLDER = Path(__file__).parent / "data"
SEED = 2025
_LETTERS: Mapping[Kind, str] = {"calendar": "c", "sms": "s", "note": "n", "chat": "h"}


class Turn(TypedDict, total=False):
    """One memory as it is written; ``speaker`` and ``session`` only of messages and chats."""

    id: str
    speaker: str
    session: str
    date: str
    text: str


class Question(TypedDict):
    """One question as it is written."""

    qid: str
    question: str
    gold: list[str]
    category: str


class Conversation(TypedDict):
    """The whole data set: one line."""

    dataset: str
    conv_id: str
    asked_at: str
    turns: list[Turn]
    questions: list[Question]


def generate() -> Conversation:
    """Make the data set: the same one every time."""
    stories, asks = read_stories(FOLDER / "stories")
    drafts = [*stories, *compose(FOLDER / "noise", stories, Random(SEED))]
    drafts.sort(key=lambda draft: (draft.date, KINDS.index(draft.kind), draft.session, draft.place, draft.text))
    ids = _ids(drafts)
    tagged = _tagged(drafts, ids)
    return {
        "dataset": "mixed",
        "conv_id": "mixed",
        "asked_at": ASKED_AT,
        "turns": [_turn(draft, id_) for draft, id_ in zip(drafts, ids, strict=True)],
        "questions": [_question(number, ask, tagged) for number, ask in enumerate(asks, 1)],
    }


def as_line(conversation: Conversation) -> str:
    """Write the data set as one line of JSON."""
    return json.dumps(conversation, ensure_ascii=False, separators=(",", ":")) + "\n"


def _ids(drafts: Sequence[Draft]) -> list[str]:
    counts = dict.fromkeys(KINDS, 0)
    ids: list[str] = []
    for draft in drafts:
        counts[draft.kind] += 1
        ids.append(f"{_LETTERS[draft.kind]}{counts[draft.kind]:04}")
    return ids


def _tagged(drafts: Sequence[Draft], ids: Sequence[str]) -> dict[str, str]:
    tagged: dict[str, str] = {}
    for draft, id_ in zip(drafts, ids, strict=True):
        if draft.tag in tagged:
            raise StoryInvalid(f"the tag {draft.tag!r} comes twice")
        if draft.tag:
            tagged[draft.tag] = id_
    return tagged


def _turn(draft: Draft, id_: str) -> Turn:
    turn: Turn = {"id": id_}
    if draft.session:
        turn["speaker"] = draft.speaker
        turn["session"] = draft.session
    turn["date"] = f"{draft.date:%Y-%m-%dT%H:%M:%SZ}"
    turn["text"] = draft.text
    return turn


def _question(number: int, ask: Ask, tagged: Mapping[str, str]) -> Question:
    unknown = [tag for tag in ask.tags if tag not in tagged]
    if unknown:
        raise StoryInvalid(f"{ask.text!r} names {unknown[0]!r}, which no memory is tagged with")
    gold = sorted(tagged[tag] for tag in ask.tags)
    return {"qid": f"q{number:03}", "question": ask.text, "gold": gold, "category": ask.category}
