"""The speaker: where a query names somebody, what they said themselves counts more than what mentions them."""

from app.domain.author import speaker_of
from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.pool import Candidate, Pool
from app.retrieval.query.names import WORD

_FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})
_USERS = frozenset({"user", "human"})
_NAME_WORDS = 3


class Speaker(Channel):
    """Raises the scores of candidates whose speaker the query names."""

    name = "names"
    weight = 0.22

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:
        """Return the fused score of each candidate whose speaker is named."""
        named = named_in(query.text)
        return {id_: fused[id_] for id_, candidate in pool.candidates.items() if speaks(candidate, named)}

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the factor by which the score is raised."""
        return dict.fromkeys(scores, 1 + self.weight)


def named_in(query: str) -> frozenset[str]:
    """Return the words by which a query may name a speaker."""
    return frozenset(word.lower() for word in WORD.findall(query))


def speaks(candidate: Candidate, named: frozenset[str]) -> bool:
    """Tell whether who speaks in a memory is named in the query; "I" and "my" name the user.

    A memory whose writer may not speak for its speaker counts as nobody's.
    """
    if not candidate.speaker_holds:
        return False
    metadata = candidate.metadata if '"speaker"' in candidate.metadata_json else {}
    speaker = speaker_of(candidate.content, metadata)
    words = WORD.findall(speaker.lower()) if speaker else []
    if not 0 < len(words) <= _NAME_WORDS:
        return False
    if words[0] in _USERS:
        return bool(named & _FIRST_PERSON)
    return words[0] in named
