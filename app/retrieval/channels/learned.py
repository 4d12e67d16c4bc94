"""Learned memories: what was made of messages counts more than the messages themselves, which weigh least."""

from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.pool import Pool


class LearnedChannel(Channel):
    """Raises the scores of candidates that were learned of messages, where a language model is to answer."""

    name = "learned"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return the evidence so far of each learned candidate."""
        return {id_: fused[id_] for id_, candidate in pool.candidates.items() if candidate.sources}
