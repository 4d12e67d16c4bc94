"""How sure a recall can be that something of its answer helps: a calibrated probability (docs/retrieval.md).

The fused scores cannot tell: the best of them is the best of something, relevant or not. Three signals can: how near
the nearest embedding is, how much of the query's words one memory holds, and how far the first is ahead of the tenth.
"""

import math

from app.retrieval.fusion import Fusion

_NEAREST, _COVERED, _LEAD, _BIAS = 9.0, 3.1, 5.5, -8.4
_TENTH = 9


def confidence(fusion: Fusion) -> float:
    """Return how likely it is that one of the best candidates answers the query, 0 to 1; 0 where there is none."""
    ranked = fusion.ranked
    best = fusion.scores[ranked[0].id] if ranked else 0.0
    if not best:
        return 0.0
    lead = 1 - fusion.scores[ranked[_TENTH].id] / best if len(ranked) > _TENTH else 1.0
    nearest = max((fusion.cosines.get(candidate.id, 0.0) for candidate in ranked), default=0.0)
    return 1 / (1 + math.exp(-(_NEAREST * nearest + _COVERED * fusion.coverage + _LEAD * lead + _BIAS)))
