"""The context of a session: a reply is found by its question, and what was said around it speaks for a memory.

Nothing is copied from one memory to another: neighbours help at query time, by the order of their session.
"""

from collections.abc import Mapping

from app.retrieval.pool import Candidate, Pool

REACH = 2
"""How many memories away a word of the query still counts."""
SHARE = 0.5
"""What it counts for each step of the way."""
_SHORT_BYTES = 350
_BEST = 3


def openness(candidate: Candidate) -> float:
    """Return how much a memory takes from its neighbours: all of it where it is short; a long one stands by itself."""
    return min(1.0, _SHORT_BYTES / max(candidate.bytes, 1))


def lent(pool: Pool, scores: Mapping[str, float]) -> dict[str, float]:
    """Return what each memory has from the better of its two neighbours, 0 to 1."""
    return {
        id_: openness(candidate) * max((scores[near.id] for _, near in pool.beside(candidate, 1)), default=0.0)
        for id_, candidate in pool.candidates.items()
    }


def of_sessions(pool: Pool, scores: Mapping[str, float]) -> dict[str, float]:
    """Return for each memory how much its session is about the query: the mean of the session's best three."""
    of_session = {
        session: sum(sorted((scores[candidate.id] for candidate in members), reverse=True)[:_BEST]) / _BEST
        for session, members in pool.sessions.items()
    }
    return {
        id_: 0.0 if candidate.session_id is None else of_session[candidate.session_id]
        for id_, candidate in pool.candidates.items()
    }
