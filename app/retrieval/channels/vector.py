"""The vector channel: memories by meaning, as the embedding model sees it."""

from collections.abc import Collection, Mapping, Sequence

from app.ports.vector_index import Hit

DEPTH = 100
"""Hits that are asked for: the most that Vectorize gives
(https://developers.cloudflare.com/vectorize/platform/limits/)."""


def points(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Return ids, best first, with points from 1 for the best hit to 0 for the last.

    Cosines themselves do not compare: one model spreads them from 0 to 1, another from 0.7 to 0.8.
    """
    if not hits:
        return []
    top, low = hits[0].score, hits[-1].score
    return [(hit.id, (hit.score - low) / (top - low) if top > low else 1.0) for hit in hits]


def scores(cosines: Mapping[str, float], present: Collection[str]) -> dict[str, float]:
    """Return the points of what the database still has; what was not among the best ``DEPTH`` has none."""
    best = sorted(cosines.items(), key=lambda item: item[1], reverse=True)[:DEPTH]
    kept = [Hit(id_, cosine) for id_, cosine in best if id_ in present]
    return dict(points(kept))
