"""Which pieces of an agent's context fit into its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.retrieval.selection import tokens

Part: TypeAlias = Literal["shared_context", "workflow", "facts", "episodes", "long_term", "summaries", "window"]
"""Where a piece comes from, in the order in which a model reads them: what was said last comes last."""
PARTS: tuple[Part, ...] = ("shared_context", "workflow", "facts", "episodes", "long_term", "summaries", "window")

WEIGHTS: Mapping[Part, int] = {
    "window": 7,
    "shared_context": 4,
    "facts": 4,
    "long_term": 4,
    "summaries": 3,
    "episodes": 3,
    "workflow": 2,
}
"""What each part may claim of the budget before the others; the order in which what is left is given away."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of an agent's context."""

    part: Part
    source: str
    """What it is, by the name under which the service gives it, such as ``context/style@3``."""
    content: str
    tokens: int
    """What source and content cost together."""

    @classmethod
    def of(cls, part: Part, source: str, content: str, cost: int | None = None) -> "Piece":
        """Make a piece with its cost; ``cost``: what the content costs, None: that is estimated."""
        return cls(part, source, content, tokens(source) + (tokens(content) if cost is None else cost))


@dataclass(frozen=True, slots=True)
class Offer:
    """What a part offers, the most wanted first."""

    pieces: Sequence[Piece] = ()
    unbroken: bool = False
    """Whether what is behind a piece that does not fit is not wanted either: a conversation without its middle."""
    newest_first: bool = False
    """Whether a model reads it from the last piece to the first."""
    absent: Sequence[str] = ()
    """What was asked for by name and is not there."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits: the pieces of each part in the order in which a model reads them."""

    pieces: Sequence[Piece]
    left_out: Mapping[Part, int] = field(default_factory=dict)
    """How many pieces of a part did not fit."""

    @property
    def tokens(self) -> int:
        """What all pieces cost."""
        return sum(piece.tokens for piece in self.pieces)


def fit(offers: Mapping[Part, Offer], max_tokens: int) -> Fitted:
    """Choose pieces that cost at most ``max_tokens`` together.

    Each part that offers something may first fill its share (``WEIGHTS``). What is left then goes to the parts in the
    order of their weights, each as far as it gets.
    """
    choices = {part: _Choice(offers[part]) for part in WEIGHTS if part in offers and offers[part].pieces}
    whole = sum(WEIGHTS[part] for part in choices)
    left = max_tokens
    for part, choice in choices.items():
        left -= choice.take(max_tokens * WEIGHTS[part] // whole)
    for choice in choices.values():
        left -= choice.take(left)
    return Fitted(
        [piece for part in PARTS if part in choices for piece in choices[part].read()],
        {part: choice.left_out for part, choice in choices.items() if choice.left_out},
    )


class _Choice:
    """What is taken of an offer so far."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._taken = [False] * len(offer.pieces)

    def take(self, most: int) -> int:
        """Take what costs at most so many tokens more, and return what it costs."""
        left = most
        for place, piece in enumerate(self._offer.pieces):
            if self._taken[place]:
                continue
            if piece.tokens <= left:
                self._taken[place] = True
                left -= piece.tokens
            elif self._offer.unbroken:
                break
        return most - left

    @property
    def left_out(self) -> int:
        return self._taken.count(False)

    def read(self) -> list[Piece]:
        taken = [piece for piece, is_taken in zip(self._offer.pieces, self._taken, strict=True) if is_taken]
        return taken[::-1] if self._offer.newest_first else taken
