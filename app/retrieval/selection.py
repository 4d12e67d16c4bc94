"""What of a ranking becomes the answer: once each, good enough, and no more than was asked for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from app.domain.limits import MAX_ANSWER_BYTES
from app.domain.query import Query
from app.retrieval.pool import Candidate
from app.retrieval.query.terms import MAX_TERMS, terms

MAX_COMPARED = 1024 * 1024
"""Characters of candidates that are compared with each other; those behind them, all worse, are left out."""

_STEM = 5
"""Letters by which two words are compared: a model says "she likes" where the message says "I liked"."""
_SAME_SHARE = 0.8
"""A message says nothing more if so much of its words stand in what was learned of it."""


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


def counted(candidates: Iterable[Candidate], query: Query) -> Iterable[Candidate]:
    """Return one candidate for each thing that ``top_k`` counts: each, or the first of each group."""
    if query.group_by is None:
        return candidates
    first: dict[tuple[str | None, str], Candidate] = {}
    return (candidate for candidate in candidates if first.setdefault(group_of(candidate), candidate) is candidate)


def group_of(candidate: Candidate) -> tuple[str | None, str]:
    """Return what the candidates of a group have in common: a memory without a session has its own id."""
    return (candidate.session_id, "" if candidate.session_id is not None else candidate.id)


def _by_sources(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Return what was learned, by each message that it was learned of."""
    learned: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for message_id in candidate.sources or ():
            learned.setdefault(message_id, []).append(candidate)
    return learned


def learned_first(ranked: Iterable[Candidate], most: int) -> Iterator[Candidate]:
    """Put each message behind what was learned of it, and leave out those that say nothing more.

    What was learned counts where it is among the first ``most``; behind them it is left out if its message was given.
    """
    candidates = iter(ranked)
    first = list(islice(candidates, most))
    learned = _by_sources(first)
    given = set[str]()
    for candidate in _behind(first, learned):
        given.add(candidate.message_id or "")
        yield candidate
    for candidate in candidates:
        of_message = learned.get(candidate.message_id or "", ())
        if given.isdisjoint(candidate.sources or ()) and not (of_message and _says_nothing_more(candidate, of_message)):
            given.add(candidate.message_id or "")
            yield candidate


def _behind(first: Iterable[Candidate], learned: Mapping[str, Sequence[Candidate]]) -> Iterator[Candidate]:
    """Give candidates in their order, but each message behind the last of what was learned of it."""
    seen = set[str]()
    waiting: dict[str, list[Candidate]] = {}
    for candidate in first:
        of_message = learned.get(candidate.message_id or "", ())
        if of_message and _says_nothing_more(candidate, of_message):
            continue
        if of_message and of_message[-1].id not in seen:
            waiting.setdefault(of_message[-1].id, []).append(candidate)
            continue
        seen.add(candidate.id)
        yield candidate
        yield from waiting.pop(candidate.id, ())


def _says_nothing_more(message: Candidate, learned: Iterable[Candidate]) -> bool:
    """Tell whether nearly all words of a message stand in what was learned of it."""
    words = _stems(message.content)
    if not words or len(words) >= MAX_TERMS:
        return False
    stems = {stem for memory in learned for stem in _stems(memory.content)}
    return len(words & stems) >= _SAME_SHARE * len(words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for term in terms(text) for word in term.text.split())
