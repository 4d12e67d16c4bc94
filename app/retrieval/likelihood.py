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

from app.retrieval.channels import speaker, vector
from app.retrieval.channels.hypothetical import Hypothetical
from app.retrieval.channels.key import Key
from app.retrieval.channels.lexical import Lexical
from app.retrieval.channels.synonyms import Synonyms
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate

_MOST_COVERED = 1.2
_SPEAKS = 1.5
"""What it adds where the query names who speaks in a turn: a share of the evidence."""
_STATES = 0.5
"""What it adds to the evidence that a memory states the value of a key that the query asks for."""
_SUPPOSED = 0.8
"""What it counts to be near a hypothetical answer, where to be near the query counts 1."""


@dataclass(frozen=True, slots=True)
class _Fit:
    words: float
    """What covering the query's words counts, where 1 is as much as being as near as an answer is."""
    steepness: float
    needed: float
    """The evidence at which half of ``ceiling`` is reached."""
    ceiling: float = 1.0

    def probability(self, covered: float, near: float, speaks: float = 0.0) -> float:
        evidence = (self.words * min(covered, _MOST_COVERED) + near) * (1 + speaks)
        if evidence <= 0:
            return 0.0
        return self.ceiling / (1 + math.exp(self.steepness * (self.needed - evidence)))


_FACT = _Fit(words=0.8, steepness=5.6, needed=0.85)
_TURN = _Fit(words=1.0, steepness=4.6, needed=1.5, ceiling=0.8)


def likelihoods(fusion: Fusion) -> Mapping[str, float]:
    """Return for each candidate how likely it is to answer the query, 0 to 1."""
    covered, stating = fusion.measure(Lexical.name), fusion.by_channel.get(Key.name, {})
    near = vector.nearness(fusion.pool) if vector.Vector.name in fusion.by_channel else {}
    if supposed := fusion.by_channel.get(Hypothetical.name):
        near |= {id_: max(near.get(id_, 0.0), _SUPPOSED * value) for id_, value in supposed.items()}
    other_words = fusion.measure(Synonyms.name)
    speaking = speaker.shares(fusion.pool, fusion.query.text) if speaker.Speaker.name in fusion.by_channel else {}

    def likelihood(candidate: Candidate) -> float:
        words = covered.get(candidate.id, 0.0) + other_words.get(candidate.id, 0.0)
        meaning = near.get(candidate.id, 0.0)
        if candidate.id in stating:
            meaning += _STATES
        if candidate.session_id is None:
            return _FACT.probability(words, meaning)
        return _TURN.probability(words, meaning, _SPEAKS * speaking.get(candidate.id, 0.0))

    return {id_: likelihood(candidate) for id_, candidate in fusion.pool.candidates.items()}
