"""A statement does not deny what its source affirms, nor affirm what its source denies.

Only certain cases are rejected: one of the two clauses denies, and the other clause has no word of its own that may
deny in another way, as "quit" and "allergic" do.
"""

from collections.abc import Iterable, Iterator, Sequence

from app.grounding.compared import GuardedStatement
from app.grounding.guards.words import PARTICIPANTS
from app.grounding.source import Ungrounded
from app.language.clauses import Clause, Word
from app.language.modality import DENIALS

_SHORT = 3
"""Letters of the shortest word that counts as shared; a word must be longer to count as missing."""


def negation(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the clauses of a statement that contradict one of the clauses nearest to them and agree with none."""
    for clause, near in comparison.near:
        if any(_contradicts(clause, other) for _, other in near) and not any(
            _agrees(clause, other) for _, other in near
        ):
            yield Ungrounded("denial", comparison.claim.text[clause.words[0].starts : clause.words[-1].ends])


def _contradicts(claim: Clause, other: Clause) -> bool:
    """Tell whether one of two clauses denies what the other affirms in the same words; a question contradicts none."""
    return not other.asks and (_denies(claim, other) or _denies(other, claim))


def _denies(denying: Clause, affirming: Clause) -> bool:
    if not _is_denied(denying.words) or _is_denied(affirming.words):
        return False
    denied = _denied(denying.words)
    return _shares(denied, affirming.words) and _has(denying.words, affirming.words)


def _agrees(claim: Clause, other: Clause) -> bool:
    """Tell whether a clause says all of another, and denies as it does."""
    return _is_denied(claim.words) == _is_denied(other.words) and _has(other.words, claim.words)


def _is_denied(words: Iterable[Word]) -> bool:
    return sum(map(_is_denial, words)) % 2 == 1


def _is_denial(word: Word) -> bool:
    return word.folded in DENIALS or word.folded.endswith("n't")


def _denied(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words behind the last denial; where there are none, as in "das mag ich nicht", those before it."""
    last = max(place for place, word in enumerate(words) if _is_denial(word))
    return _meaningful(words[last + 1 :]) or _meaningful(words[:last])


def _meaningful(words: Iterable[Word]) -> list[Word]:
    """Return the words that neither deny nor name a participant; no more is known, as their language is not certain."""
    return [word for word in words if not _is_denial(word) and word.folded not in PARTICIPANTS]


def _shares(denied: Sequence[Word], words: Sequence[Word]) -> bool:
    telling = [word for word in denied if len(word.folded) >= _SHORT]
    return any(word.akin(other) for word in telling for other in _meaningful(words) if len(other.folded) >= _SHORT)


def _has(words: Sequence[Word], affirmed: Sequence[Word]) -> bool:
    """Tell whether each affirmed word, the shortest aside, has a form among the words."""
    telling = [word for word in _meaningful(affirmed) if len(word.folded) > _SHORT or word.coded]
    return all(any(word.akin(other) for other in words) for word in telling)
