"""The speaker channel: memories whose speaker the query names count more than memories that mention that person."""

from collections.abc import Sequence

from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Pool
from app.retrieval.query.names import WORD
from app.retrieval.query.parsing import ParsedQuery

_FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})
_USERS = frozenset({"user", "human"})
_NAME_WORDS = 3
_OF_THE_USER = 0.3
"""How much "I" and "my" count of a name: half of all turns are the user's, so that these words tell little."""


class Speaker(Channel):
    """Raises the scores of candidates whose speaker the query names."""

    name = "names"
    cue = "speakers"

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:
        """Return the evidence so far of each candidate whose speaker is named; a part of it where that is the user."""
        return {id_: fused[id_] * share for id_, share in shares(pool, query.text).items()}

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:
        """Return how surely the query names each candidate's speaker: 1, less for the user."""
        return {id_: share for id_, share in shares(pool, query.text).items() if id_ in scores}


def shares(pool: Pool, query: str) -> dict[str, float]:
    """Return the ``share`` of each candidate whose speaker the query names."""
    named = named_in(query)
    by_id = {id_: share(words, named) for id_, words in pool.speakers.items()}
    return {id_: value for id_, value in by_id.items() if value}


def named_in(query: str) -> frozenset[str]:
    """Return the words by which a query may name a speaker."""
    return frozenset(word.lower() for word in WORD.findall(query))


def share(words: Sequence[str], named: frozenset[str]) -> float:
    """Return 1 where the query names the speaker, less for the user, whom "I" and "my" name, else 0.

    ``words`` are those of the speaker's name in lower case; a name of more than three words scores 0.
    """
    if not 0 < len(words) <= _NAME_WORDS:
        return 0.0
    if words[0] in _USERS:
        return _OF_THE_USER if named & _FIRST_PERSON else 0.0
    return 1.0 if words[0] in named else 0.0
