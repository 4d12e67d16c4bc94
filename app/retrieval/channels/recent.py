"""The recency channel: prefers recent memories, where the caller asks for it."""

from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery


class Recent(Channel):
    """Scores candidates by their age."""

    name = "recency"
    cue = "recency"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return 1 for a memory that has just happened, and half as much with each half-life of its age.

        Without a preference the scores are empty.
        """
        recency = query.recency
        if recency is None:
            return {}
        return {id_: recency.of(candidate.happened_at) for id_, candidate in pool.candidates.items()}
