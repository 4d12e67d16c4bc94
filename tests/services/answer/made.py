"""Makes entries and labelled cases as the tests of answers need them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.domain.query import Entry
from app.services.answer.composing import Answer, Length, compose
from app.services.answer.holding import Former

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
NOW = "2026-05-20"


def noon(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC).timestamp() * 1000)


def entry(content: str, day: str = "2026-05-01", *, speaker: str = "", score: float = 0.9, id_: str = "") -> Entry:
    metadata = {"speaker": speaker} if speaker else {}
    return Entry(id_ or f"{day} {content[:40]}", content, metadata, score, noon(day), noon(day))


def former(content: str, day: str, until: str) -> Former:
    return Former(content, noon(day), noon(until))


def answer(
    query: str, *entries: Entry, length: Length = "short", formers: dict[str, list[Former]] | None = None, at: str = NOW
) -> Answer:
    return compose(query, entries, formers or {}, reference_time=noon(at), length=length)


def lines(query: str, *entries: Entry, **options: Any) -> list[str]:
    return answer(query, *entries, **options).text.splitlines()


@dataclass(frozen=True)
class Case:
    """A labelled question, what a recall found for it, and what of the answer is right."""

    labels: dict[str, Any]
    answer: Answer

    @property
    def is_right(self) -> bool:
        right = self.labels["right"]
        return right is None or any(right in quote.text for quote in self.answer.quotes)

    @property
    def is_computed(self) -> bool:
        begins = self.labels["begins"]
        computed = self.answer.text.split(" (")[0].split(",")[0]
        return computed == begins if begins else self.answer.text.startswith(self.answer.quotes[0].line)


def cases(part: str, *, min_score: float) -> Iterator[Case]:
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
        found = compose(labels["question"], entries, formers, reference_time=at, length="short", min_score=min_score)
        yield Case(labels, found)
