"""Every name, code and identifier of a statement stands in a source, or names the source's speaker."""

import re
from collections.abc import Iterator

from app.grounding.compared import ComparedText, GuardedStatement, SourceContents
from app.grounding.guards.words import NOUNS_WITH_CAPITALS, PARTICIPANTS
from app.grounding.source import Ungrounded
from app.language.clauses import Word

_PARTS = re.compile(r"[^\W_]+")
_PLURAL = "s"


def names(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the names of a statement that no source has; numbers are the matter of another guard."""
    claim = comparison.claim
    german = any(word in claim.forms or comparison.cited.has_word(word) for word in NOUNS_WITH_CAPITALS)
    for word in _named(claim, german=german):
        if (
            word.starts not in claim.quantity_places
            and not claim.in_times(word.starts)
            and not _is_known(word, comparison.cited)
        ):
            yield Ungrounded("name", word.text)


def _named(claim: ComparedText, *, german: bool) -> Iterator[Word]:
    """Yield the words that are written as names are; first words and German nouns are left out: all have capitals."""
    for word in claim.words:
        if word.folded in PARTICIPANTS:
            continue
        if _is_code(word) or (word.capital and not word.first and not german):
            yield word


def _is_code(word: Word) -> bool:
    return word.coded or not {"/", "@", "_"}.isdisjoint(word.text)


def _is_known(word: Word, cited: SourceContents) -> bool:
    """Tell whether a source has a name, in any case, singular or plural, or cut otherwise: "Next.js" and "nextjs"."""
    parts = _PARTS.findall(word.folded)
    candidates = (word.folded, "".join(parts), word.folded.removesuffix(_PLURAL), word.folded + _PLURAL)
    if any(cited.has_word(candidate) for candidate in candidates):
        return True
    return len(parts) > 1 and all(cited.has_word(part) for part in parts)
