"""How likely it is that a memory answers the query: what entries tell as their score (docs/retrieval.md).

It is made of the query, the memory, and where it has a session its neighbours there: of how much of the query's words
they cover, and of how near the embeddings are on the scale of their config. How many other memories there are, and how
good those are, does not enter it. The order of a ranking is another thing (``app/retrieval/fusion.py``): it knows more,
such as the period that a query names.

The constants were fitted to labelled questions: of single facts, and of conversations, in which hundreds of turns are
about the same people and things, so that the same evidence means less, and the best turn often is not the right one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.retrieval.channels.lexical import Lexical
from app.retrieval.channels.speaker import Speaker
from app.retrieval.channels.vector import Vector
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate

_MOST_COVERED = 1.2
_SPEAKS = 0.7
"""What it adds where the query names who speaks in a turn: a share of the evidence."""


@dataclass(frozen=True, slots=True)
class _Fit:
    steepness: float
    needed: float
    """The evidence at which half of ``ceiling`` is reached."""
    ceiling: float = 1.0

    def probability(self, evidence: float) -> float:
        if evidence <= 0:
            return 0.0
        return self.ceiling / (1 + math.exp(self.steepness * (self.needed - evidence)))


_FACT = _Fit(steepness=5.6, needed=0.75)
_TURN = _Fit(steepness=3.8, needed=1.28, ceiling=0.8)


def likelihoods(fusion: Fusion) -> Mapping[str, float]:
    """Return for each candidate how likely it is to answer the query, 0 to 1."""
    covered = fusion.measure(Lexical.name)
    near, speaking = fusion.by_channel.get(Vector.name, {}), fusion.by_channel.get(Speaker.name, {})

    def likelihood(candidate: Candidate) -> float:
        evidence = min(covered.get(candidate.id, 0.0), _MOST_COVERED) + near.get(candidate.id, 0.0)
        if candidate.session_id is None:
            return _FACT.probability(evidence)
        return _TURN.probability(evidence * (1 + _SPEAKS) if candidate.id in speaking else evidence)

    return {id_: likelihood(candidate) for id_, candidate in fusion.pool.candidates.items()}
