"""What of a ranking becomes the answer: once each, good enough, and no more than was asked for."""

from collections.abc import Iterable, Iterator

from app.domain.limits import MAX_ANSWER_BYTES
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
    """Leave out what does not fit into the tokens and bytes that are left; a shorter one behind it may fit."""
    left, left_bytes = max_tokens, MAX_ANSWER_BYTES
    for candidate in ranked:
        size = 0 if left is None else tokens(candidate.content)
        if candidate.bytes > left_bytes or (left is not None and size > left):
            continue
        left_bytes -= candidate.bytes
        left = None if left is None else left - size
        yield candidate


def tokens(text: str) -> int:
    """Return about how many tokens a language model makes of a text: one of four ASCII characters, or of any other.

    Tokenizers differ by more than this is off; for English it is a little too much, for most others too.
    """
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain
