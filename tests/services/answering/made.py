"""Makes entries as the tests of answers need them, and has a scripted reader choose among their sentences."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.domain.json_types import Json
from app.domain.query import Entry
from app.domain.reading import Kinds
from app.services.answering.choosing import Choice, choice
from app.services.answering.composing import ComposedAnswer, Length, compose
from app.services.memories.recall import Recall
from app.services.models.reader import TenantReader
from app.services.turns.shares import Shares
from tests.services.scripted_reader import ScriptedReader

NOW = "2026-05-20"
MIN_SCORE = 0.5
EVENT = Kinds(0.01, 0.97, 0.01, 0.01)


@dataclass(frozen=True)
class Earlier:
    """What held before a memory came in its place."""

    content: str
    created_at: int
    until: int | None
    id: str = "earlier"
    occurred_at: int | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    session_id: str | None = None


def noon(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC).timestamp() * 1000)


def entry(
    content: str,
    day: str = "2026-05-01",
    *,
    speaker: str = "",
    score: float = 0.9,
    id_: str = "",
    session: str | None = None,
) -> Entry:
    metadata = {"speaker": speaker} if speaker else {}
    return Entry(
        id=id_ or f"{day} {content[:40]}",
        content=content,
        metadata=metadata,
        score=score,
        created_at=noon(day),
        occurred_at=noon(day),
        session_id=session,
    )


def former(content: str, day: str, until: str) -> Earlier:
    return Earlier(content, noon(day), noon(until))


def chosen(
    query: str, entries: Sequence[Entry], at: int, relevance: Mapping[str, float] | None, reader: ScriptedReader
) -> Choice:
    """Choose as a profile does; ``relevance`` is a reader's of the entries by their ids, None: there is no reader."""
    tenant = None if relevance is None else TenantReader("acme", reader, Shares(8), 0.5)
    return asyncio.run(choice(query, Recall(entries, relevance=relevance or {}), tenant, min_score=MIN_SCORE, now=at))


def answer(  # noqa: PLR0913 - what a test tells
    query: str,
    *entries: Entry,
    length: Length = "short",
    formers: Mapping[str, Sequence[Earlier]] | None = None,
    at: int | str = NOW,
    relevance: Mapping[str, float] | None = None,
    ratings: Mapping[str, float] | None = None,
    events: Sequence[str] = (),
    reader: ScriptedReader | None = None,
) -> ComposedAnswer:
    """Answer as a profile does; ``ratings`` are a reader's of sentences, ``events`` those that it calls events."""
    scripted = ScriptedReader(
        answers={(query, text): value for text, value in (ratings or {}).items()}, of_kinds=dict.fromkeys(events, EVENT)
    )
    now = noon(at) if isinstance(at, str) else at
    made = chosen(query, entries, now, relevance, reader or scripted)
    return compose(made.sentences, made.computed, formers or {}, length)


def lines(query: str, *entries: Entry, **options: Any) -> list[str]:
    return answer(query, *entries, **options).text.splitlines()
