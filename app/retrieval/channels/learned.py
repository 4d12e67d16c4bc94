"""The learned channel: memories that were learned of messages count more than the messages, which weigh least."""

from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery


class LearnedChannel(Channel):
    """Raises the scores of candidates that were learned of messages, where a language model is to answer."""

    name = "learned"
    cue = "learned"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return the evidence so far of each learned candidate."""
        return {candidate.id: fused[candidate.id] for candidate in pool.learned}
