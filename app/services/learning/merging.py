"""Makes one of proposals that say the same: two passes read each part of a conversation."""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TypeAlias

from app.domain.learned import Proposal
from app.language.tokens import BREAKS, QUOTES, Tokens, tokens

_LISTS = tomllib.loads((resources.files(__package__) / "words.toml").read_text("utf-8"))
_UNCOUNTED = BREAKS | QUOTES | {*_LISTS["uncounted"].split()}
_LEADS = frozenset(_LISTS["leads"].split())
_DENIALS = frozenset(_LISTS["denials"].split())

_One: TypeAlias = Callable[[Proposal, Proposal], Proposal]


@dataclass(eq=False, slots=True)
class _Statement:
    """A proposal and the words by which it is compared."""

    proposal: Proposal
    words: Tokens
    core: Tokens = field(init=False)
    """Its words in their order, without its phrases."""
    phrases: Counter[Tokens] = field(init=False)
    denials: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        """Take the words apart."""
        core: list[str] = []
        phrases: list[Tokens] = []
        place = 0
        while place < len(self.words):
            if self.words[place] in _LEADS:
                phrases.append(self.words[place : place + 2])
                place += 2
            else:
                core.append(self.words[place])
                place += 1
        self.core, self.phrases = tuple(core), Counter(phrases)
        self.denials = Counter(word for word in self.words if word in _DENIALS)

    def covers(self, other: "_Statement") -> bool:
        """Tell whether it says what another of the same message says, and perhaps more."""
        mine, its = self.proposal.happened_at, other.proposal.happened_at
        return (
            (None in {mine, its} or mine == its)
            and other.denials == self.denials
            and other.phrases <= self.phrases
            and _in_order(other.core, self.core)
        )


def merge(proposals: Iterable[Proposal], said: Sequence[str] = ()) -> list[Proposal]:
    """Return each proposal once, with the messages of all that say the same.

    Two say the same if their words are equal, whatever their case. So they do if all words of the one stand in the
    other, in their order but for phrases such as "to Oslo", both cite one message, and neither denies what the other
    says or happened on another day. The more complete one is kept. The order of the proposals changes nothing, and to
    merge again changes nothing.

    ``said``: message ids in the order in which they were said, which is the order of those that a merged proposal
    cites, and of the result. What it does not name comes after, by id.
    """
    places = {id_: number for number, id_ in enumerate(said)}

    def place(id_: str) -> tuple[int, str]:
        return places.get(id_, len(places)), id_

    def one(kept: Proposal, other: Proposal) -> Proposal:
        ids = kept.message_ids
        if [*ids] != [*other.message_ids]:
            ids = sorted({*ids, *other.message_ids}, key=place)
        return _filled(replace(kept, message_ids=ids), other)

    statements = _covered(_alike(proposals, one), one)
    return [
        each.proposal for each in sorted(statements, key=lambda each: (place(each.proposal.message_ids[0]), each.words))
    ]


def _alike(proposals: Iterable[Proposal], one: _One) -> list[_Statement]:
    """Make one of those of equal words; the most complete comes first."""
    found: dict[Tokens, Proposal] = {}
    for each in sorted(proposals, key=_key):
        words = tuple(word for word in tokens(each.content) if word not in _UNCOUNTED) or (each.content,)
        found[words] = one(found[words], each) if words in found else each
    return [_Statement(found[words], words) for words in sorted(found, key=lambda words: (-len(words), words))]


def _covered(statements: Sequence[_Statement], one: _One) -> list[_Statement]:
    """Let each statement be one with the most complete one that covers it, until none is covered."""
    left, before = list(statements), -1
    while len(left) != before:
        before = len(left)
        citing: dict[str, list[_Statement]] = {}
        kept = []
        for each in left:
            ids = each.proposal.message_ids
            host = next((other for id_ in ids for other in citing.get(id_, ()) if other.covers(each)), None)
            if host is None:
                kept.append(each)
                host = each
            else:
                host.proposal = one(host.proposal, each.proposal)
            for id_ in ids:
                if host not in citing.setdefault(id_, []):
                    citing[id_].append(host)
        left = kept
    return left


def _in_order(few: Tokens, many: Tokens) -> bool:
    """Tell whether words stand among others in their order."""
    rest = iter(many)
    return all(word in rest for word in few)


def _filled(kept: Proposal, other: Proposal) -> Proposal:
    """Return a proposal with what it does not say and another one does."""
    return replace(
        kept,
        happened_at=other.happened_at if kept.happened_at is None else kept.happened_at,
        type=kept.type or other.type,
        topic=kept.topic or other.topic,
        search_queries=kept.search_queries or other.search_queries,
    )


def _key(proposal: Proposal) -> tuple[object, ...]:
    """Return what orders proposals, whatever their order was."""
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
