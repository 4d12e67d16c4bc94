"""What of a ranking becomes the answer: once each, good enough, and no more than was asked for."""

from collections.abc import Iterable, Iterator

from app.retrieval.pool import Candidate

MAX_COMPARED = 1024 * 1024
"""Characters of candidates that are compared with each other; those behind them, all worse, are left out."""


def distinct(ranked: Iterable[Candidate]) -> Iterator[Candidate]:
    """Leave out what differs from something better only in case, white space and Unicode form."""
    seen = set[str]()
    for candidate in compared(ranked):
        if candidate.folded not in seen:
            seen.add(candidate.folded)
            yield candidate


def compared(ranked: Iterable[Candidate]) -> Iterator[Candidate]:
    """Give the candidates that are compared with each other."""
    left = MAX_COMPARED
    for candidate in ranked:
        left -= len(candidate.content)
        if left < 0:
            return
        yield candidate


def within(ranked: Iterable[Candidate], max_tokens: int | None) -> Iterator[Candidate]:
    """Leave out what does not fit into the tokens that are left; a shorter one behind it may fit."""
    left = max_tokens
    for candidate in ranked:
        if left is not None:
            size = tokens(candidate.content)
            if size > left:
                continue
            left -= size
        yield candidate


def tokens(text: str) -> int:
    """Return about how many tokens a language model makes of a text: one of four ASCII characters, or of any other.

    Tokenizers differ by more than this is off; for English it is a little too much, for most others too.
    """
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain
