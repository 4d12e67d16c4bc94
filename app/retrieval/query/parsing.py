"""Parses a query: the texts to embed, the terms that the channels look for, and the cues that it gives them."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
"""A part of a query or of its candidates that a channel works with; ``query`` is always there, the others seldom."""

_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Recency:
    """A preference for recent memories, in ms: the moment that ages count from, and the age at which it halves."""

    reference: int
    half_life: float

    def of(self, happened_at: int) -> float:
        """Return the preference for a moment: 1 at the reference and later, 0.5 a half-life before it."""
        return math.exp2(-max(self.reference - happened_at, 0) / self.half_life)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as the channels read it."""

    text: str
    terms: Sequence[Term] = ()
    parts: Sequence[Sequence[int]] = ()
    """For a message of several sentences, the numbers of all its terms, and of those of each sentence that says
    something; empty for one sentence."""
    periods: Sequence[Period] = ()
    keys: Sequence[str] = ()
    """The keys of the topics that a language model has picked for the query (``TOPIC`` and the topic)."""
    recency: Recency | None = None
    hits: Sequence[Hit] = ()
    """The vector index's hits for the query, best first."""
    synonyms: Sequence[Term] = ()
    """Other words for the query's words."""
    hypothetical_hits: Sequence[Hit] = ()
    """The vector index's hits for a hypothetical answer, best first."""

    @property
    def cues(self) -> frozenset[Cue]:
        """The cues that the query itself gives channels to work with."""
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

    def with_hits(self, hits: Sequence[Hit]) -> "ParsedQuery":
        """Return the query with these hits of the vector index."""
        return self if hits is self.hits else replace(self, hits=hits)


def embedded_texts(query: Query, sentences: QuerySentences, speakers: Collection[str]) -> Sequence[str]:
    """Return the texts to embed, without the names of speakers: the query's, and then each of several questions."""
    if query.embedded is not None:
        return (query.embedded,)
    asked = (sentences.without_greetings, *sentences.needs)
    return tuple(without_speakers(text, speakers) for text in asked) if speakers else asked


def parse(
    query: Query,
    sentences: QuerySentences,
    analysis: Analysis,
    now: int,
    hits: Sequence[Hit] = (),
    hypothetical_hits: Sequence[Hit] = (),
) -> ParsedQuery:
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
        hits,
        synonym_terms(analysis.synonyms, own) if analysis.synonyms else (),
        hypothetical_hits,
    )
