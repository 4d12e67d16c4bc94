"""Merges proposals that say the same: two passes read each part of a conversation."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from app.domain.learned import Proposal
from app.domain.words import plain
from app.services.learning.sifting import words_of

MAX_ALIKE = 64
"""Pairs of one group for which the reader decides whether one proposal says what the other says."""
_STOPS = ".!?\u3002 "

Contents: TypeAlias = tuple[str, str]
"""The texts of two proposals: the more complete one, and the other."""


def alike(proposals: Iterable[Proposal]) -> list[Contents]:
    """Return the pairs of proposals of which one may say all that the other says.

    Both cite one message and do not happen on two days, and the words of the one stand in the other in their order. So
    do the words of "I eat fish" in "I never eat fish": only a reader can tell these apart.
    """
    pairs = dict.fromkeys((longer.content, shorter.content) for longer, shorter in _alike(proposals))
    return list(islice(pairs, MAX_ALIKE))


def merge(
    proposals: Iterable[Proposal], said: Sequence[str] = (), following: Collection[Contents] = ()
) -> list[Proposal]:
    """Return each proposal once, with the messages of all proposals that say the same.

    Two proposals say the same if their texts are equal but for case, space and the stop at the end. Of each pair in
    ``following``, whose second text follows from its first, the first is kept. The order of the proposals changes
    nothing, and to merge again changes nothing.

    ``said`` has message ids in the order in which the messages were said. A merged proposal cites its messages in this
    order, and the result has it too. Ids that ``said`` does not have come after, in the order of ids.
    """
    places = {id_: number for number, id_ in enumerate(said)}

    def place(id_: str) -> tuple[int, str]:
        return places.get(id_, len(places)), id_

    def one(kept: Proposal, other: Proposal) -> Proposal:
        """Return a proposal with the messages of both, and the other's fields where its own are empty."""
        ids = kept.message_ids
        if [*ids] != [*other.message_ids]:
            ids = sorted({*ids, *other.message_ids}, key=place)
        return replace(
            kept,
            message_ids=ids,
            happened_at=other.happened_at if kept.happened_at is None else kept.happened_at,
            type=kept.type or other.type,
            topic=kept.topic or other.topic,
            search_queries=kept.search_queries or other.search_queries,
        )

    found: dict[str, Proposal] = {}
    for proposal in sorted(proposals, key=_key):
        text = compared(proposal.content)
        found[text] = one(found[text], proposal) if text in found else proposal
    wholes: defaultdict[str, list[str]] = defaultdict(list)
    for longer, shorter in sorted(following, key=lambda pair: (-len(pair[0]), pair)):
        wholes[compared(shorter)].append(compared(longer))
    for text in reversed(list(found)):  # the shortest first: the whole that it joins may join a longer one
        whole = next((each for each in wholes[text] if each in found and _one_day(found[each], found[text])), None)
        if whole is not None:
            found[whole] = one(found[whole], found.pop(text))
    return sorted(found.values(), key=lambda each: (place(each.message_ids[0]), compared(each.content)))


def compared(content: str) -> str:
    """Return a text in the form in which texts are compared, where case, space and the stop at the end do not count."""
    return plain(content).rstrip(_STOPS) or content


def _alike(proposals: Iterable[Proposal]) -> Iterator[tuple[Proposal, Proposal]]:
    citing: defaultdict[str, list[tuple[Proposal, Sequence[str]]]] = defaultdict(list)
    for proposal in sorted(proposals, key=_key):
        words = words_of(proposal.content)
        for id_ in proposal.message_ids:
            for longer, others in citing[id_]:
                if len(words) < len(others) and _one_day(longer, proposal) and _in_order(words, others):
                    yield longer, proposal
            citing[id_].append((proposal, words))


def _one_day(one: Proposal, other: Proposal) -> bool:
    return None in {one.happened_at, other.happened_at} or one.happened_at == other.happened_at


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Tell whether the few words stand among the many in their order."""
    rest = iter(many)
    return all(word in rest for word in few)


def _key(proposal: Proposal) -> tuple[object, ...]:
    """Return a sort key that puts proposals in one order, the longest first, whatever order they came in."""
    happened_at = proposal.happened_at
    return (
        -len(proposal.content),
        proposal.content,
        [*proposal.message_ids],
        (happened_at is None, happened_at or 0),
        proposal.type or "",
        proposal.topic or "",
        [*proposal.search_queries],
    )
