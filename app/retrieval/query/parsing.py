"""Parses a query: what is embedded of it, what the channels look for, and which cues it gives them."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.claim import TOPIC
from app.domain.moments import DAY_MS
from app.domain.query import Query
from app.ports.vector_index import Hit
from app.retrieval.query.analysis import Analysis, synonym_terms
from app.retrieval.query.names import without_speakers
from app.retrieval.query.periods import Period, periods
from app.retrieval.query.sentences import QuerySentences
from app.retrieval.query.terms import Term, clipped, terms

Cue: TypeAlias = Literal[
    "query", "synonyms", "hypothetical", "keys", "periods", "numbers", "recency", "sessions", "speakers", "learned"
]
"""Something of a query or of its candidates that a channel works with; ``query`` is always there, others seldom are."""

_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Recency:
    """A preference for recent memories, in ms: since when ages are counted, and at which it has halved."""

    reference: int
    half_life: float

    def of(self, happened_at: int) -> float:
        """Return 1 for what has just happened, or has yet to, and 0.5 at the half-life."""
        return math.exp2(-max(self.reference - happened_at, 0) / self.half_life)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as the channels read it."""

    text: str
    terms: Sequence[Term] = ()
    parts: Sequence[Sequence[int]] = ()
    """The numbers of the terms of each sentence that says something, of a message of several."""
    periods: Sequence[Period] = ()
    keys: Sequence[str] = ()
    """The keys of the topics that a language model has picked for it (``TOPIC`` and the topic)."""
    recency: Recency | None = None
    hits: Sequence[Hit] = ()
    """What the vector index has found for it, best first."""
    synonyms: Sequence[Term] = ()
    """Other words for what it asks."""
    hypothetical_hits: Sequence[Hit] = ()
    """What the vector index has found for a hypothetical answer, best first."""

    @property
    def cues(self) -> frozenset[Cue]:
        """What the query itself gives channels to work with."""
        given: dict[Cue, object] = {
            "query": True,
            "synonyms": self.synonyms,
            "hypothetical": self.hypothetical_hits,
            "keys": self.keys,
            "periods": self.periods,
            "numbers": _NUMBER.search(self.text),
            "recency": self.recency,
        }
        return frozenset(cue for cue, value in given.items() if value)


def embedded_texts(query: Query, sentences: QuerySentences, speakers: Collection[str]) -> Sequence[str]:
    """Return what of the query is embedded, and behind it what is asked apart of it, without the names of speakers."""
    if query.embedded is not None:
        return (query.embedded,)
    asked = (sentences.without_greetings, *sentences.needs)
    return tuple(without_speakers(text, speakers) for text in asked) if speakers else asked


def parse(query: Query, sentences: QuerySentences, analysis: Analysis, now: int) -> ParsedQuery:
    """Return the query as the channels read it, with what its analysis adds; ``now`` is in ms since the epoch."""
    moment = query.as_of if query.reference_time is None else query.reference_time
    reference = now if moment is None else moment
    text = clipped(query.text)
    own = terms(text)
    return ParsedQuery(
        text,
        own,
        sentences.parts(own),
        periods(sentences.asking, reference),
        [TOPIC + topic for topic in analysis.topics],
        None if query.recency_days is None else Recency(reference, query.recency_days * DAY_MS),
        synonyms=synonym_terms(analysis.synonyms, own) if analysis.synonyms else (),
    )
