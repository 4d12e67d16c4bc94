"""The hypothetical answer (HyDE): finds memories whose meaning is near that of an answer to the query.

A language model words such an answer. It may be wrong: it is compared with memories and shown to no caller.
"""

from app.domain.json_types import Json
from app.retrieval.channels import vector
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery


class Hypothetical(Channel):
    """Scores candidates by how near their embedding is to that of a hypothetical answer."""

    name = "hyde"
    section = "hypothetical"
    cue = "hypothetical"
    ranks = True

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the ids of the index's hits with their points."""
        return vector.points(query.hypothetical_hits)

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return how near each of the nearest candidates is, as the vector channel measures it."""
        return vector.nearness(pool, pool.hypothetical)

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the cosines."""
        return pool.hypothetical
