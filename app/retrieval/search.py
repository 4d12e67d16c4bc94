"""What a search for a query found: all candidates with their scores, and the entries that a query makes of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.query import Entry, Query
from app.retrieval import reranking, selection
from app.retrieval.confidence import confidence
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate


@dataclass(frozen=True)
class Search:
    """All candidates of a query with their scores, and what kept there from being more."""

    fusion: Fusion
    degraded: Sequence[str]
    relevance: reranking.Relevance = field(default_factory=dict)
    """How a reranker has rated the best candidates."""

    @cached_property
    def confidence(self) -> float:
        """How likely it is that one of the candidates answers the query, 0 to 1."""
        return max(self.relevance.values()) if self.relevance else self._confidence

    @cached_property
    def ranking(self) -> Sequence[Candidate]:
        """All candidates, best first."""
        return reranking.reordered(self.fusion.ranked, self.relevance)

    @cached_property
    def _confidence(self) -> float:
        """The confidence as the channels have it."""
        return confidence(self.fusion)

    @cached_property
    def _scale(self) -> float:
        """What makes of a fused score the score of an entry: the best one has the confidence as its score."""
        best = max(self.fusion.scores.values(), default=0.0)
        return self._confidence / best if best else 0.0

    def score(self, candidate: Candidate) -> float:
        """Return the score of the entry that a candidate makes."""
        fused = min(1.0, self.fusion.scores[candidate.id] * self._scale)
        return reranking.score(candidate.id, fused, self.relevance)

    def ranked(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries, best first; the caller stops at ``top_k``."""
        ranked: Iterator[Candidate] = iter(self.ranking)
        if query.collapse:
            ranked = selection.distinct(ranked)
        if query.min_score > 0:
            ranked = (candidate for candidate in ranked if self.score(candidate) >= query.min_score)
        return selection.within(ranked, query.max_tokens)

    def entry(self, candidate: Candidate, *, explain: bool) -> Entry:
        """Make an entry of a candidate."""
        id_ = candidate.id
        findings = [finding.scaled(self._scale) for finding in self.fusion.findings(id_)] if explain else []
        return Entry(
            id=id_,
            content=candidate.content,
            metadata=candidate.metadata,
            score=self.score(candidate),
            created_at=candidate.created_at,
            source=candidate.source,
            similarity=self.fusion.pool.cosines.get(id_),
            findings=reranking.findings(id_, findings, self.relevance) if explain else [],
        )
