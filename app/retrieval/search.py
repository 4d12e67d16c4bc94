"""What a search for a query found: all candidates with their scores, and the entries that a query makes of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.query import Entry, Query
from app.retrieval import selection
from app.retrieval.confidence import confidence
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate


@dataclass(frozen=True)
class Search:
    """All candidates of a query with their scores, and what kept there from being more."""

    fusion: Fusion
    degraded: Sequence[str]

    @cached_property
    def confidence(self) -> float:
        """How likely it is that one of the candidates answers the query, 0 to 1."""
        return confidence(self.fusion)

    @cached_property
    def _scale(self) -> float:
        """What makes of a fused score the score of an entry: the best one has the confidence as its score."""
        best = max(self.fusion.scores.values(), default=0.0)
        return self.confidence / best if best else 0.0

    def score(self, candidate: Candidate) -> float:
        """Return the score of the entry that a candidate makes."""
        return min(1.0, self.fusion.scores[candidate.id] * self._scale)

    def ranked(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries, best first; the caller stops at ``top_k``."""
        ranked: Iterator[Candidate] = iter(self.fusion.ranked)
        if query.collapse:
            ranked = selection.distinct(ranked)
        if query.min_score > 0:
            ranked = (candidate for candidate in ranked if self.score(candidate) >= query.min_score)
        return selection.within(ranked, query.max_tokens)

    def entry(self, candidate: Candidate, *, explain: bool) -> Entry:
        """Make an entry of a candidate."""
        id_ = candidate.id
        findings = self.fusion.findings(id_) if explain else []
        return Entry(
            id=id_,
            content=candidate.content,
            metadata=candidate.metadata,
            score=self.score(candidate),
            created_at=candidate.created_at,
            source=candidate.source,
            similarity=self.fusion.pool.cosines.get(id_),
            findings=[finding.scaled(self._scale) for finding in findings],
        )
