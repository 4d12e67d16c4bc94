"""What every channel of a recall is (docs/contributing.md shows how to add one)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from app.domain.json_types import Json
from app.ports.vector_index import Hit
from app.retrieval.pool import Pool
from app.retrieval.query.periods import Period
from app.retrieval.query.terms import Term

Scores = Mapping[str, float]
"""Scores of candidates by their ids; a candidate that is not in it has none."""


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
    """The keys of which it asks the value ("user/lives_in")."""
    recency: Recency | None = None
    hits: Sequence[Hit] = ()
    """What the vector index has found for it, best first."""
    synonyms: Sequence[Term] = ()
    """Other words for what it asks."""
    hypothetical_hits: Sequence[Hit] = ()
    """What the vector index has found for a hypothetical answer, best first."""


class Channel(Protocol):
    """One way to find or to score the candidates of a recall. A channel knows no other channel."""

    name: ClassVar[str]
    """What findings call it, and ``app/retrieval/weights.toml``, which has what a score of 1 counts."""
    section: ClassVar[str | None] = None
    """The section of ``app/storage/candidates.sql`` that finds its candidates; None for one that only scores."""
    ranks: ClassVar[bool] = False
    """Whether a finding tells the memory's rank in the channel."""

    def candidates(self, query: ParsedQuery) -> Json:  # noqa: ARG002 - for those that have a section
        """Return the JSON array that its section reads; where it is empty the section finds nothing."""
        return []

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:
        """Return the candidates' scores, of which none is negative.

        ``fused`` has each candidate's evidence by the channels that come before this one in the list.
        """
        ...

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002 - for those that differ
        """Return what a finding tells as ``raw``: the scores, where the channel has no measure of its own."""
        return scores
