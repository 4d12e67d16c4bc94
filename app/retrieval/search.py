"""What a search for a query found: all candidates with their scores, and the entries that a query makes of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from app.domain.comparing import Comparison
from app.domain.memory import CONTENT_FIELDS
from app.domain.query import Entry, Finding, Group, Query
from app.retrieval import answering, reranking, selection
from app.retrieval.fusion import Fusion
from app.retrieval.grouping import grouped
from app.retrieval.pool import Candidate
from app.retrieval.succession import handed_on


@dataclass(frozen=True)
class Search:
    """All candidates of a query with their scores, and what kept there from being more."""

    fusion: Fusion
    degraded: Sequence[str]
    relevance: reranking.Relevance = field(default_factory=dict)
    """How a model has rated the best candidates."""
    is_read: bool = False
    """Whether a reader has rated; else a reranker has, if anybody has."""
    comparisons: Sequence[Comparison] = ()
    """How some of the best candidates bear on each other, which nobody had compared before."""

    @cached_property
    def confidence(self) -> float:
        """How likely it is that one of the best candidates answers the query, 0 to 1; 0 where there is none."""
        candidates, scores = self.fusion.pool.candidates, self._rated or self._scores
        may_be = (score for id_, score in scores.items() if candidates[id_].whole and not candidates[id_].superseded)
        return max(may_be, default=0.0)

    @cached_property
    def ranking(self) -> Sequence[Candidate]:
        """All candidates, best first: those that were rated by their scores, and behind them the others."""
        ranked, rated = self.fusion.ranked, self._rated
        if not rated:
            return ranked
        first = sorted(
            (candidate for candidate in ranked if candidate.id in rated),
            key=lambda candidate: rated[candidate.id],
            reverse=True,
        )
        return [*first, *(candidate for candidate in ranked if candidate.id not in rated)]

    @cached_property
    def _rated(self) -> reranking.Relevance:
        """The scores of the candidates that were rated."""
        return answering.scores(self.fusion, self.relevance) if self.is_read else self.relevance

    @cached_property
    def _scores(self) -> Mapping[str, float]:
        """The scores without what a model has rated."""
        return handed_on(self.fusion.pool, self.fusion.likelihoods, self.fusion.learned)

    @cached_property
    def formers(self) -> Mapping[str, Sequence[Candidate]]:
        """By the id of a candidate, those that stated otherwise before it what it states now, in no order."""
        formers: dict[str, list[Candidate]] = {}
        for candidate in self.fusion.pool.candidates.values():
            if candidate.current is not None:
                formers.setdefault(candidate.current, []).append(candidate)
        return formers

    @cached_property
    def sources(self) -> Mapping[str, Sequence[str]]:
        """By the id of a candidate that was learned, the ids of its messages, or of their candidates."""
        learned = self.fusion.pool.learned
        messages = self.fusion.pool.candidates.values() if learned else ()
        by_message = {candidate.message_id: candidate.id for candidate in messages if candidate.message_id}
        return {candidate.id: [by_message.get(id_, id_) for id_ in candidate.sources or ()] for candidate in learned}

    def score(self, candidate: Candidate) -> float:
        """Return the score of the entry that a candidate makes, 0 to 1; what was not rated, no more than what was."""
        id_, rated = candidate.id, self._rated
        return rated[id_] if id_ in rated else min([self._scores[id_], *rated.values()])

    def select(self, query: Query) -> tuple[Sequence[Candidate], Sequence[Group] | None]:
        """Return the candidates that are the entries, and the groups that they are in, where that is asked."""
        if query.group_by is None:
            return list(islice(self.ranked(query), query.top_k)), None
        groups = grouped(self.eligible(query), self.score, top_k=query.top_k, max_tokens=query.max_tokens)
        return [self.fusion.pool.candidates[id_] for group in groups for id_ in group.entries], groups

    def ranked(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries, best first; the caller stops at ``top_k``."""
        return selection.within(self.eligible(query), query.max_tokens)

    def eligible(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries as far as their size allows it, best first."""
        ranked: Iterator[Candidate] = (candidate for candidate in self.ranking if not candidate.superseded)
        if query.collapse:
            ranked = selection.distinct(ranked)
        if query.for_answer:
            ranked = selection.learned_first(ranked, query.top_k)
        if query.min_score > 0:
            ranked = (candidate for candidate in ranked if self.score(candidate) >= query.min_score)
        return ranked

    def entry(self, candidate: Candidate, *, explain: bool) -> Entry:
        """Make an entry of a candidate."""
        id_ = candidate.id
        return Entry(
            id=id_,
            score=self.score(candidate),
            created_at=candidate.created_at,
            **{name: getattr(candidate, name) for name in CONTENT_FIELDS},
            source=candidate.source,
            similarity=self.fusion.pool.cosines.get(id_),
            findings=self._findings(id_) if explain else [],
        )

    def _findings(self, id_: str) -> Sequence[Finding]:
        """Return what a candidate's score is made of."""
        shares = self._shares(id_)
        if self.is_read:
            return answering.findings(id_, shares, self.relevance, self._rated)
        return reranking.findings(id_, shares, self.relevance) if self.relevance else shares

    def _shares(self, id_: str) -> Sequence[Finding]:
        """Return what a candidate's place is made of, as shares of its likelihood."""
        evidence, own = self.fusion.found[id_], self.fusion.likelihoods[id_]
        share = own / evidence if own else 0.0
        findings = [finding.scaled(share) for finding in self.fusion.findings(id_)]
        taken = self._scores[id_] - own
        return [*findings, Finding("succession", taken)] if taken else findings
