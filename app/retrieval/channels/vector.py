"""The vector channel: finds memories by their meaning, as the embedding model sees it."""

from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from app.domain.json_types import Json
from app.ports.vector_index import Hit
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.parsing import ParsedQuery

DEPTH = 100
"""Hits that are asked for: the most that Vectorize gives
(https://developers.cloudflare.com/vectorize/platform/limits/)."""

_MOST = 1.5
"""The highest nearness that counts: beyond it texts are nearly the same, and nearer texts answer no better."""

_ROUNDING = 0.002
"""A difference of cosines above the change that keeping vectors in 16 bits a number makes."""

_PARTS = 10_000
"""Points have four decimals. With all decimals of a float, SQLite takes a twentieth longer for a recall's statement."""


class Vector(Channel):
    """Scores candidates by how near their embedding is to the query's."""

    name = "vector"
    section = "semantic"
    ranks = True

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the ids of the index's hits with their points."""
        return points(query.hits)

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return how near each candidate is on its config's scale: 0 as unrelated texts are, 1 as an answer is.

        Of candidates beyond the nearest ``DEPTH`` it is known only that they are no nearer than the last of these: they
        count as near as that one.
        """
        best = _nearest(pool.cosines)
        rest = min(pool.scale.nearness(min(best.values())), _MOST) if len(best) == DEPTH else 0.0
        scores = dict.fromkeys(pool.candidates, rest) if rest else {}
        return scores | _nearness(pool, best)

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the cosines."""
        return pool.cosines


def nearness(pool: Pool, cosines: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return how near each candidate among the nearest ``DEPTH`` is: the index gives no more hits.

    The nearness is that of ``cosines`` where they are given, else of the query's. It is the same before and after a
    vector leaves the outbox, however many vectors wait there.
    """
    return _nearness(pool, _nearest(pool.cosines if cosines is None else cosines))


def _nearness(pool: Pool, nearest: Mapping[str, float]) -> dict[str, float]:
    near = {id_: nearest[id_] for id_ in pool.candidates if id_ in nearest}
    values = pool.scale.nearnesses(near.values())
    return {id_: min(value, _MOST) for id_, value in zip(near, values, strict=True) if value > 0}


def _nearest(cosines: Mapping[str, float]) -> Mapping[str, float]:
    if len(cosines) <= DEPTH:
        return cosines
    least = sorted(cosines.values())[-DEPTH]
    near = {id_: cosine for id_, cosine in cosines.items() if cosine >= least}
    # Of equal ones the first count. Mostly there are none, and this takes a fifth of what sorting the ids takes.
    return near if len(near) == DEPTH else dict(nlargest(DEPTH, cosines.items(), key=itemgetter(1)))


def points(hits: Sequence[Hit]) -> list[Json]:
    """Return ``[id, points]`` of each hit, best first, with points from 1 for the best hit to 0 for the last.

    Cosines of two models do not compare: one model spreads them from 0 to 1, another from 0.7 to 0.8.
    """
    if not hits:
        return []
    low = hits[-1].score
    spread = hits[0].score - low
    if spread <= 0:
        return [[hit.id, 1.0] for hit in hits]
    # ``round`` takes four times as long.
    return [[id_, int((score - low) / spread * _PARTS + 0.5) / _PARTS] for id_, score in hits]


def cosines_of(hits: Sequence[Hit], queued: Mapping[str, float], *, exact: bool) -> dict[str, float]:
    """Put together the cosines of the index's hits and those of the vectors that are queued for the index.

    Where the index is ``exact``, a memory has one score before and after its vector leaves the outbox: the index's
    cosine is taken where the index has the queued vector. The outbox keeps vectors in 16 bits a number, so its cosine
    is a little off; a larger difference means that the index still has an older vector of an id that was used again.
    The cosines of an approximate index are further off than the outbox's, which are taken there.
    """
    shown = dict(hits)
    if exact:
        queued = {id_: cosine for id_, cosine in queued.items() if abs(shown.get(id_, -2.0) - cosine) > _ROUNDING}
    shown.update(queued)
    return shown
