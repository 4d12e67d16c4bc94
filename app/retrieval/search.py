"""The result of a search for a query: all candidates with their scores, and the entries that a query makes of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

from app.domain.comparing import Comparison
from app.domain.memory import CONTENT_FIELDS
from app.domain.query import Entry, Finding, Group, Query, Restatement
from app.retrieval import answering, reranking, selection
from app.retrieval.fusion import Fusion
from app.retrieval.grouping import grouped
from app.retrieval.pool import Candidate
from app.retrieval.succession import handed_on


@dataclass(frozen=True)
class Search:
    """All candidates of a query with their scores, and the parts of the recall that failed (``degraded``)."""

    fusion: Fusion
    degraded: Sequence[str]
    relevance: reranking.Relevance = field(default_factory=dict)
    """The relevances of the best candidates by a model."""
    is_read: bool = False
    """Whether a reader has rated the candidates; otherwise a reranker has, or no model."""
    comparisons: Sequence[Comparison] = ()
    """How some of the best candidates bear on each other; this recall was the first to compare them."""
    restating: Sequence[tuple[Candidate, Candidate]] = ()
    """Pairs of candidates that restate each other in other words, as a reader has found where the query asks for it."""
    agent_known: bool = True
    """Whether anything was ever stored for the agent, or it was set."""
    across: bool = False
    """Whether the embedding model finds memories across languages."""

    @cached_property
    def confidence(self) -> float:
        """The highest score of a candidate that may be an entry, 0 to 1; 0 where there is no candidate."""
        best = next((candidate for candidate in self.ranking if not candidate.superseded), None)
        return 0.0 if best is None else self._score(best.id)

    @cached_property
    def ranking(self) -> Sequence[Candidate]:
        """All candidates, best first: the rated ones by their scores, and behind them the others in fusion's order."""
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
    def _evidence(self) -> Mapping[str, float]:
        """The evidence of the candidates, handed on by those that are outdated now."""
        return handed_on(self.fusion.pool, self.fusion.scores, self.fusion.learned)

    def _unrated(self, id_: str) -> float:
        """Return a candidate's score without a model's rating: its likelihood, or what was handed on to it."""
        return self.fusion.likelihood(self._evidence[id_])

    @cached_property
    def formers(self) -> Mapping[str, Sequence[Candidate]]:
        """By the id of a successor, the candidates whose statements it has replaced, in no order."""
        formers: dict[str, list[Candidate]] = {}
        for candidate in self.fusion.pool.candidates.values():
            if candidate.current is not None:
                formers.setdefault(candidate.current, []).append(candidate)
        return formers

    @cached_property
    def sources(self) -> Mapping[str, Sequence[str]]:
        """By the id of a learned candidate, the ids of its messages, or of the candidates that are these messages."""
        learned = self.fusion.pool.learned
        messages = self.fusion.pool.candidates.values() if learned else ()
        by_message = {candidate.message_id: candidate.id for candidate in messages if candidate.message_id}
        return {candidate.id: [by_message.get(id_, id_) for id_ in candidate.sources or ()] for candidate in learned}

    @cached_property
    def restated(self) -> selection.Restated:
        """Which candidates stand for others that say the same, in the same words or in others."""
        return selection.restated(self.ranking, self.restating)

    def stands_for(self, query: Query) -> selection.Restated:
        """Return which candidates stand for others in the answer to a query."""
        return {} if query.collapse is None else self.restated

    def score(self, candidate: Candidate, query: Query | None = None) -> float:
        """Return a candidate's score, 0 to 1; a candidate that was not rated scores no more than the rated ones.

        With a query it is the score of an entry: the best of the candidates that the entry stands for.
        """
        others = self.stands_for(query).get(candidate.id, ()) if query is not None else ()
        return max([self._score(each.id) for each in (candidate, *others)])

    def _score(self, id_: str) -> float:
        rated = self._rated
        return rated[id_] if id_ in rated else min([self._unrated(id_), *rated.values()])

    def select(self, query: Query) -> tuple[Sequence[Candidate], Sequence[Group] | None]:
        """Return the candidates that become entries, and their groups; None where the query asks for no groups."""
        if query.group_by is None:
            return list(islice(self.ranked(query), query.top_k)), None
        score = partial(self.score, query=query)
        groups = grouped(self.eligible(query), score, top_k=query.top_k, max_tokens=query.max_tokens)
        return [self.fusion.pool.candidates[id_] for group in groups for id_ in group.entries], groups

    def ranked(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries and fit into the limits of size, best first; the caller stops."""
        return selection.within(self.eligible(query), query.max_tokens)

    def eligible(self, query: Query) -> Iterator[Candidate]:
        """Give the candidates that may be entries if their size allows it, best first."""
        ranked: Iterator[Candidate] = (candidate for candidate in self.ranking if not candidate.superseded)
        if query.collapse:
            ranked = selection.once(ranked, self.stands_for(query))
        if query.for_answer:
            ranked = selection.learned_first(ranked, query.top_k)
        if query.min_score > 0:
            ranked = (candidate for candidate in ranked if self.score(candidate, query) >= query.min_score)
        return ranked

    def entry(self, candidate: Candidate, query: Query) -> Entry:
        """Make an entry of a candidate, in the answer to a query."""
        id_, score = candidate.id, self.score(candidate, query)
        others = self.stands_for(query).get(id_, ())
        return Entry(
            id=id_,
            score=score,
            created_at=candidate.created_at,
            **{name: getattr(candidate, name) for name in CONTENT_FIELDS},
            source=candidate.source,
            similarity=self.fusion.pool.cosines.get(id_),
            findings=self._findings_of(id_, score) if query.explain else [],
            also=[Restatement(other.id, other.created_at, other.occurred_at) for other in others],
        )

    def _findings_of(self, id_: str, score: float) -> Sequence[Finding]:
        """Return the findings that make up an entry's score: its own, and what one that it stands for scores more."""
        own, more = self._findings(id_), score - self._score(id_)
        return [*own, Finding("restated", more)] if more else own

    def _findings(self, id_: str) -> Sequence[Finding]:
        """Return the findings that make up a candidate's score."""
        shares = self._shares(id_)
        if self.is_read:
            return answering.findings(id_, shares, self.relevance, self._rated)
        return reranking.findings(id_, shares, self.relevance) if self.relevance else shares

    def _shares(self, id_: str) -> Sequence[Finding]:
        """Return the findings that make up a candidate's score before any rating, as shares of that score."""
        evidence, own = self.fusion.found[id_], self.fusion.likelihood(self.fusion.scores[id_])
        share = own / evidence if own else 0.0
        findings = [finding.scaled(share) for finding in self.fusion.findings(id_)]
        taken = self._unrated(id_) - own
        return [*findings, Finding("succession", taken)] if taken else findings
