"""Selects the candidates of a ranking that become entries: each content once, within limits, and learned ones first."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from app.domain.limits import MAX_ANSWER_BYTES
from app.domain.query import Query
from app.ports.vector_index import Hits
from app.retrieval.channels.vector import DEPTH
from app.retrieval.pool import Candidate, newness
from app.retrieval.query.terms import MAX_TERMS, terms

MAX_COMPARED = 1024 * 1024
"""Characters of candidates that are compared with each other; candidates behind them, all worse, are left out."""

_FOLDED_AT_ONCE = 16 * 1024
"""Characters whose folding takes some milliseconds at most, whatever the text."""

Restated: TypeAlias = Mapping[str, Sequence[Candidate]]
"""By the id of a candidate, the others that it stands for, the newest first."""

_Wording: TypeAlias = tuple[str, tuple[str, bool]]
"""What copies have in common: the folded content, and who tells it."""

_STEM = 5
"""Letters by which two words are compared: a model says "she likes" where the message says "I liked"."""
_SAME_SHARE = 0.8
"""A message says nothing more if this share of its words is in the memories that were learned of it."""


def distinct(ranked: Iterable[Candidate]) -> Iterator[Candidate]:
    """Leave out a candidate that differs from a better one only in case, white space and Unicode form.

    Two speakers who say the same say two things.
    """
    seen = set[_Wording]()
    for candidate in compared(ranked):
        wording = _wording(candidate)
        if wording not in seen:
            seen.add(wording)
            yield candidate


def _wording(candidate: Candidate) -> _Wording:
    return candidate.folded, candidate.told_by


def restated(ranked: Iterable[Candidate], restating: Iterable[tuple[Candidate, Candidate]] = ()) -> Restated:
    """Return which candidates stand for others: the newest for all of its wording, and for those that it restates.

    ``restating`` are the pairs that restate each other in other words. A wording stands for those that it is paired
    with; what is paired with these alone stays by itself.
    """
    wordings: defaultdict[_Wording, list[Candidate]] = defaultdict(list)
    for candidate in compared(ranked):
        if candidate.holds and not (candidate.expired or candidate.forgotten):
            wordings[_wording(candidate)].append(candidate)
    partners: defaultdict[_Wording, list[_Wording]] = defaultdict(list)
    for one, other in restating:
        partners[_wording(one)].append(_wording(other))
        partners[_wording(other)].append(_wording(one))
    standing: dict[str, Sequence[Candidate]] = {}
    for wording in sorted(wordings, key=lambda wording: max(map(newness, wordings[wording])), reverse=True):
        if wording not in wordings:
            continue
        alike = [candidate for each in (wording, *partners[wording]) for candidate in wordings.pop(each, ())]
        newest, *others = sorted(alike, key=newness, reverse=True)
        if others:
            standing[newest.id] = others
    return standing


def once(ranked: Iterable[Candidate], standing: Restated) -> Iterator[Candidate]:
    """Put each candidate that stands for others in the place of the best of them, and leave the others out."""
    stands_for = {other.id: id_ for id_, others in standing.items() for other in others}
    candidates = list(compared(ranked))
    by_id = {candidate.id: candidate for candidate in candidates}
    given = set[str]()
    for candidate in candidates:
        shown = by_id.get(stands_for.get(candidate.id, candidate.id), candidate)
        if shown.id not in given:
            given.add(shown.id)
            yield shown


def compared(ranked: Iterable[Candidate]) -> Iterator[Candidate]:
    """Give the candidates that are compared with each other."""
    left = MAX_COMPARED
    for candidate in ranked:
        left -= len(candidate.content)
        if left < 0:
            return
        yield candidate


async def fold(candidates: Sequence[Candidate]) -> None:
    """Fold the candidates that a collapse compares; the event loop goes on between parts of them."""
    if sum(len(candidate.content) for candidate in candidates) <= _FOLDED_AT_ONCE:
        return  # each candidate is folded where it is compared
    characters = 0
    for candidate in compared(candidates):
        characters += len(candidate.folded)
        if characters > _FOLDED_AT_ONCE:
            characters = 0
            await asyncio.sleep(0)


def within(ranked: Iterable[Candidate], max_tokens: int | None) -> Iterator[Candidate]:
    """Leave out a candidate that does not fit into the tokens and bytes left; a shorter one behind it may fit."""
    left, left_bytes = max_tokens, MAX_ANSWER_BYTES
    for candidate in ranked:
        size = 0 if left is None else tokens(candidate.content)
        if candidate.bytes > left_bytes or (left is not None and size > left):
            continue
        left_bytes -= candidate.bytes
        left = None if left is None else left - size
        yield candidate


def tokens(text: str) -> int:
    """Return about how many tokens a language model makes of a text: one for four ASCII characters or one other.

    Tokenizers differ from each other by more than this estimate is off; it is a little too high for English and most
    other languages.
    """
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def counted(candidates: Iterable[Candidate], query: Query) -> Iterable[Candidate]:
    """Return the candidates that ``top_k`` counts: all, or the first of each group where the query asks for groups."""
    if query.group_by is None:
        return candidates
    first: dict[tuple[str | None, str], Candidate] = {}
    return (candidate for candidate in candidates if first.setdefault(group_of(candidate), candidate) is candidate)


def are_enough(candidates: Iterable[Candidate], query: Query) -> bool:
    """Tell whether ``top_k`` of the candidates, or of their groups, may be entries."""
    holding = (candidate for candidate in candidates if not candidate.superseded)
    different = distinct(holding) if query.collapse else holding
    return sum(1 for _ in islice(counted(different, query), query.top_k)) == query.top_k


def is_crowded(hits: Hits, candidates: Iterable[Candidate], query: Query) -> bool:
    """Tell whether rows that a program keeps may have taken the places of memories among the index's hits.

    The index does not leave such rows out. A recall has to look further where the index gave ``DEPTH`` hits
    or more, and fewer than ``top_k`` of them are candidates.
    """
    if not query.for_model or len(hits.hits) < DEPTH:
        return False
    present = {candidate.id for candidate in candidates}
    return sum(hit.id in present for hit in hits.hits) < query.top_k


def group_of(candidate: Candidate) -> tuple[str | None, str]:
    """Return the key of a candidate's group: its session, or its own id where it has no session."""
    return (candidate.session_id, "" if candidate.session_id is not None else candidate.id)


def _by_sources(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Return the learned candidates by the id of each message that they were learned of."""
    learned: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for message_id in candidate.sources or ():
            learned.setdefault(message_id, []).append(candidate)
    return learned


def learned_first(ranked: Iterable[Candidate], most: int) -> Iterator[Candidate]:
    """Put each message behind the memories learned of it, and leave out messages that say nothing more than these.

    Learned memories count where they are among the first ``most`` candidates; one behind them is left out if its
    message was given.
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
    """Give candidates in their order, but each message behind the last memory that was learned of it."""
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
    """Tell whether nearly all words of a message are in the memories that were learned of it."""
    words = _stems(message.content)
    if not words or len(words) >= MAX_TERMS:
        return False
    stems = {stem for memory in learned for stem in _stems(memory.content)}
    return len(words & stems) >= _SAME_SHARE * len(words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for term in terms(text) for word in term.text.split())
