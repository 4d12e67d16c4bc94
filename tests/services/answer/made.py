"""Makes entries and labelled cases as the tests of answers need them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.domain.query import Entry
from app.services.answer.asking import question
from app.services.answer.choosing import answering, by_entry, to_rate, told
from app.services.answer.composing import SENTENCES, Answer, Former, Length, compose
from app.services.recall import Recall

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
NOW = "2026-05-20"
TELLS = MIN_SCORE = 0.5


def noon(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC).timestamp() * 1000)


def entry(content: str, day: str = "2026-05-01", *, speaker: str = "", score: float = 0.9, id_: str = "") -> Entry:
    metadata = {"speaker": speaker} if speaker else {}
    return Entry(id_ or f"{day} {content[:40]}", content, metadata, score, noon(day), noon(day))


def former(content: str, day: str, until: str) -> Former:
    return Former(content, noon(day), noon(until))


def answer(
    query: str,
    *entries: Entry,
    length: Length = "short",
    formers: Mapping[str, list[Former]] | None = None,
    at: int | str = NOW,
    relevance: Mapping[str, float] | None = None,
    ratings: Mapping[str, float] | None = None,
) -> Answer:
    """Answer as a profile does; ``relevance`` is a reader's of entries by their ids, ``ratings`` of their sentences."""
    asked = question(query)
    tells = None if relevance is None else TELLS
    sentences = by_entry(answering(Recall(entries, relevance=relevance or {}), tells, MIN_SCORE), asked)
    rated = {said: (ratings or {}).get(said.text, 0.0) for said in to_rate(sentences)}
    chosen = told(sentences, rated, TELLS, SENTENCES[length])
    now = noon(at) if isinstance(at, str) else at
    return compose(asked, chosen, entries, formers or {}, reference_time=now, length=length)


def lines(query: str, *entries: Entry, **options: Any) -> list[str]:
    return answer(query, *entries, **options).text.splitlines()


@dataclass(frozen=True)
class Case:
    """A labelled question, and how it is answered."""

    labels: dict[str, Any]
    answer: Answer

    @property
    def is_computed(self) -> bool:
        begins = self.labels["begins"]
        computed = self.answer.text.split(" (")[0].split(",")[0]
        return computed == begins if begins else self.answer.text.startswith(self.answer.quotes[0].line)


def cases(part: str) -> Iterator[Case]:
    """Answer the questions of a part of the labelled ones in short."""
    for line in (ANSWERS / f"{part}.jsonl").read_text("utf-8").splitlines():
        labels = json.loads(line)
        entries = [
            entry(each["text"], each["at"], speaker=each.get("speaker", ""), score=each["score"], id_=each["id"])
            for each in labels["entries"]
        ]
        formers = {
            id_: [former(each["text"], each["at"], each["until"]) for each in found]
            for id_, found in labels.get("formers", {}).items()
        }
        at = noon(labels["reference"])
        yield Case(labels, answer(labels["question"], *entries, formers=formers, at=at))
