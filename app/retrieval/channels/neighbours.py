"""The neighbour channels: the evidence of the memories around a candidate in its session counts for it.

Nothing is copied from one memory to another: neighbours help at query time, by the order of their session.
"""

from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery

_BEST = 3
"""Candidates of a session whose evidence tells how much the session is about the query."""


class Beside(Channel):
    """Gives each candidate a share of its better neighbour's evidence."""

    name = "beside"
    cue = "sessions"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return the better neighbour's evidence, damped by the candidate's own length."""
        scores: dict[str, float] = {}
        for members in pool.sessions.values():
            for candidate in members:
                beside = max([fused[each.id] for _, each in pool.neighbours(candidate, 1)], default=0.0)
                scores[candidate.id] = candidate.length_damping * beside
        return scores


class OfSession(Channel):
    """Gives each candidate a share of the evidence of its session's best candidates."""

    name = "session"
    cue = "sessions"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return for each candidate the mean evidence of the best three of its session; a missing one counts as 0."""
        scores: dict[str, float] = {}
        for members in pool.sessions.values():
            best = sum(sorted([fused[member.id] for member in members], reverse=True)[:_BEST]) / _BEST
            scores |= {candidate.id: best for candidate in members}
        return scores
