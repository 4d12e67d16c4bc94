"""The synonyms channel: finds memories by other words for the query's words, which a language model has given."""

from app.domain.json_types import Json
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.channels.lexical import coverages, scale, term_weights
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery

SHARE = 0.5
"""How much a synonym counts, where a word of the query itself counts 1."""


class Synonyms(Channel):
    """Scores candidates by synonyms of the query's words, as far as they lack the query's own words."""

    name = "synonyms"
    section = "synonyms"
    cue = "synonyms"
    ranks = True

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the synonyms in the syntax of FTS5."""
        return [term.fts for term in query.synonyms]

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return how much of the query synonyms cover: at most ``SHARE`` of the weight its own words leave open."""
        covered, whole = _covered(pool, query)
        return {id_: value / scale(whole) for id_, value in covered.items()}

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the share of the query's weight that synonyms cover for each candidate."""
        covered, whole = _covered(pool, query)
        return {id_: value / whole for id_, value in covered.items()} if whole else {}


def _covered(pool: Pool, query: ParsedQuery) -> tuple[dict[str, float], float]:
    """Return the weight that synonyms cover for each candidate, and the weight of the whole query."""
    own = len(query.terms)
    weights = term_weights(pool, own + len(query.synonyms))
    whole = sum(weights[:own]) or max(weights)
    by_own = coverages(pool, weights[:own])
    by_synonyms = coverages(pool, [0.0] * own + weights[own:])
    covered = {id_: SHARE * min(value, max(whole - by_own[id_], 0.0)) for id_, value in by_synonyms.items() if value}
    return {id_: value for id_, value in covered.items() if value}, whole
