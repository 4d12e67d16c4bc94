"""Folds text and splits it into tokens: lists of words are read, so that no expression can run away on a text."""

import re
from collections.abc import Iterator

from app.domain.words import folded

Tokens = tuple[str, ...]

BREAKS = frozenset(",;:!?()\u2026\u2014\u2013\u00b7.")
QUOTES = frozenset('"\u201c\u201d\u201e\u00ab\u00bb')

# A word keeps what stands inside addresses, versions, times and amounts: a.b@c.example, 3.11, 9:30, 80,000.
_TOKEN = re.compile(
    r"[\w$\u20ac\u00a3+#@&](?:[\w.\-/:@+#%&'_~\u20ac$]|(?<=\d),(?=\d{1,3}(?!\d)))*"
    r"|(?<!\w)'s(?!\w)|[,;:!?().\"\u201c\u201d\u201e\u00ab\u00bb\u2026\u2014\u2013\u00b7]"
)
_TRAILING = ".:-/'&+_~"
_IS_AFTER = frozenset(("it", "that", "there", "he", "she", "here", "what", "where", "who", "when", "how", "which"))
_ENDINGS = (("n't", "not"), ("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"))
_SHORTENED = {"let's": "let us"}
_STEMS = {"ca": "can", "wo": "will"}


def tokens(text: str) -> Tokens:
    """Split a text into folded words and marks; contractions are written out and a possessive ``'s`` stands alone."""
    found: list[str] = []
    for raw in _TOKEN.findall(folded(text)):
        if raw.isalnum() or len(raw) == 1:
            found.append(raw)
        else:
            found.extend(_parts(raw))
    return tuple(found)


def _parts(raw: str) -> Iterator[str]:
    word = raw if raw.endswith("++") else raw.rstrip(_TRAILING)
    if "'" in word:
        yield from _written_out(word)
    elif word:
        yield word
    if raw.endswith(":"):
        yield ":"


def _written_out(word: str) -> Iterator[str]:
    """Give the words of a contraction."""
    if word in _SHORTENED:
        yield from _SHORTENED[word].split()
        return
    for ending, full in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            stem = word[: -len(ending)]
            yield _STEMS.get(stem, stem)
            yield full
            return
    stem, mark, rest = word.partition("'s")
    if not mark or rest or not stem:
        yield word
        return
    yield stem
    yield "is" if stem in _IS_AFTER else "'s"
