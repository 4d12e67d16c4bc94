"""Neighbours: what was said around a memory in its session speaks for it.

Nothing is copied from one memory to another: neighbours help at query time, by the order of their session. A memory
without a session speaks for itself, so that a store of both is fair to both.
"""

from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.pool import Pool

_BEST = 3
"""So many of a session tell how much it is about the query."""
_ALONE = 1.3
"""What a memory without a session has of itself: about what the better ones of a session have of theirs."""


class Neighbours(Channel):
    """Gives each candidate a share of its better neighbour's score, and of the best scores in its session."""

    name = "smoothing"
    weight = 0.2

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return the better neighbour's score, damped by the candidate's own length, and the mean of the best three."""
        alone = (each.id for each in pool.candidates.values() if each.session_id is None)
        scores = {id_: _ALONE * fused[id_] for id_ in alone}
        for members in pool.sessions.values():
            best = sorted((fused[each.id] for each in members), reverse=True)[:_BEST]
            of_session = sum(best) / _BEST
            for candidate in members:
                beside = max((fused[each.id] for _, each in pool.neighbours(candidate, 1)), default=0.0)
                scores[candidate.id] = candidate.length_damping * beside + of_session
        return scores
