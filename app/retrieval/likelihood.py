"""How likely it is that a memory answers the query: what entries tell as their score (docs/retrieval.md).

It is made of the memory's own evidence, of that of all other candidates, and of how many memories the scope has: of a
hundred that have about the same evidence each is likely to be one of the ninety-nine that do not answer. It rises with
the evidence, so that scores come in the order of entries. ``app/retrieval/weights.toml`` has the numbers, which were
fitted to labelled questions.
"""

import math
from collections.abc import Mapping
from heapq import nlargest

import numpy as np

from app.retrieval.fusion import Fusion

_BEST = 50
"""So many are summed up, so that it does not matter how many were gathered."""
FEW = 10
"""A smaller scope counts as one of so many memories."""


def likelihoods(fusion: Fusion) -> Mapping[str, float]:
    """Return for each candidate how likely it is to answer the query, 0 to 1; 0 for one of which nothing was found."""
    fit = fusion.weights.score
    base = (
        fit.base
        + fit.memories * math.log(max(fusion.pool.stats.memories, FEW))
        + fit.others * float(np.logaddexp(fit.nothing, together(fusion)))
    )
    return {id_: 1 / (1 + math.exp(-(fit.evidence * own + base))) for id_, own in fusion.scores.items()}


def together(fusion: Fusion) -> float:
    """Return the logarithm of the sum of the exponentials of the evidence of the best that may be entries.

    What an outdated memory or a message hands on counts once, where it goes; so does a content that comes twice.
    """
    by_content: dict[str, float] = {}
    for one in fusion.pool.candidates.values():
        if one.whole and not (one.superseded or one.added or one.id in fusion.learned):
            by_content[one.content] = max(fusion.handed_on[one.id], by_content.get(one.content, -math.inf))
    return float(np.logaddexp.reduce(nlargest(_BEST, by_content.values())))
