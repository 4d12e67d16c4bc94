"""The key channel: finds the memories that state a key's current value, such as of a topic that a model has picked."""

from app.domain.json_types import Json
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery


class Key(Channel):
    """Scores candidates that state the current value of a key that the query asks for."""

    name = "key"
    section = "keyed"
    cue = "keys"

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the keys that the query asks for."""
        return list(query.keys)

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return 1 for each candidate that states the current value of a key that the query asks for."""
        return {id_: 1.0 for id_, candidate in pool.candidates.items() if candidate.keyed}
