"""What an agent's callers ask for, and what they are told of it."""

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple


class Text(NamedTuple):
    """What makes two memories of an agent one, unless one of them was superseded before the other was stored."""

    content: str
    session: str | None = None
    occurred_at: int | None = None


class ViolationError(AssertionError):
    """An answer that no order of what was done explains."""


@dataclass(slots=True, eq=False)
class Store:
    """One request to store; ``number`` is in its metadata, so that an answer shows whose write it is."""

    number: int
    text: Text
    began: int
    ended: float = inf
    acknowledged: bool = False
    id: str | None = None
    """Known once it was acknowledged or seen: it happened."""
    never: float = inf
    """From then on known not to have happened, or to have been undone."""
    kept_out: bool = False
    """An erasure was in its way: at most it happened before that, in a run that was made again, and is erased."""
    earliest: int = 0
    latest: float = inf
    """Between which moments, in ms since the epoch, a memory is made that it makes."""

    @property
    def shade(self) -> int:
        """Something to filter on that changes when the same is stored again."""
        return self.number % 2


@dataclass(slots=True, eq=False)
class Delete:
    """One request to delete."""

    id: str
    began: int
    ended: float = inf
    void: bool = False
    """It failed, and what it should have deleted was seen later."""


@dataclass(slots=True, eq=False)
class Erasure:
    """One request to erase all there is."""

    began: int
    accepted: float = inf
    """From then on nothing is stored until it is done."""
    ended: float = inf
    """From then on its receipt is known."""


@dataclass(slots=True, eq=False)
class Mark:
    """One request to forget a memory, or to unforget it, or an answer that showed which of both it was."""

    id: str
    forgotten: bool
    began: int
    ended: float = inf
    sure: bool = False
    """Whether it is known that the memory was so at some moment from its beginning to its end."""
    changes: bool = True
    """Whether it is a request, which may have changed it."""


@dataclass(slots=True)
class Memory:
    """All that is known of one id."""

    text: Text
    stores: list[Store] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    gone: float = inf
    """From then on known to be deleted."""


def certainly(*, forgotten: bool, began: int, marks: list[Mark]) -> bool:
    """Tell whether a memory is forgotten, or is not, whenever somebody looks from then on.

    It was so for certain, and nobody has since then asked for the opposite, or may have.
    """
    opposite = max((one.ended for one in marks if one.changes and one.forgotten != forgotten), default=0)
    return any(one.sure and one.forgotten == forgotten and opposite < one.began <= one.ended < began for one in marks)
