"""How sure a recall can be that something of its answer helps: a probability, fitted (docs/retrieval.md).

Two kinds of evidence, either of which is enough: an embedding that is nearer than the nearest of so many unrelated
memories would be; or much of the query's words in one memory, and a high fused score.
"""

import math

from app.retrieval.channels.lexical import Lexical, coverage
from app.retrieval.fusion import Fusion

_NEAR, _SPREAD, _STEEP = 0.39, 0.1, 12.0
_COVERED, _SCORED, _BIAS = 2.8, 2.2, -4.4


def confidence(fusion: Fusion) -> float:
    """Return how likely it is that one of the best candidates answers the query, 0 to 1; 0 where none has a score."""
    best = max(fusion.scores.values(), default=0.0)
    if not best:
        return 0.0
    pool = fusion.pool
    nearest = max((pool.cosines.get(id_, 0.0) for id_ in pool.candidates), default=0.0)
    # The largest of n values that are spread normally lies about sqrt(2 ln n) times their spread above the mean.
    chance = _SPREAD * math.sqrt(2 * math.log(max(pool.stats.memories, 1)))
    by_meaning = _logistic(_STEEP * (nearest - _NEAR - chance))
    covered = coverage(fusion.by_channel.get(Lexical.name, {}))
    by_score = _logistic(_COVERED * covered + _SCORED * best + _BIAS)
    return 1 - (1 - by_meaning) * (1 - by_score)


def _logistic(evidence: float) -> float:
    return 1 / (1 + math.exp(-evidence))
