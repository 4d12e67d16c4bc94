"""The lexical channel where memories are facts (docs/retrieval.md)."""

from app.retrieval.channels.channel import ParsedQuery, Scores
from app.retrieval.channels.lexical import Lexical
from app.retrieval.pool import Pool


class FactWords(Lexical):
    """Scores facts by the query's words: one word that a fact shares with a query tells little, because it has so few.

    What covers the whole query counts as it does elsewhere; what covers a part of it, by the square of this part.
    """

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:
        """Return what each candidate covers of the query, the less the smaller that part is."""
        scores = super().score(pool, query, fused)
        parts = self.measure(pool, query, scores)
        return {id_: score * min(1.0, parts[id_]) for id_, score in scores.items()}
