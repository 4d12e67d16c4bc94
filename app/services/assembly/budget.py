"""Chooses the pieces of an agent's context that fit into its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.retrieval.selection import tokens

Part: TypeAlias = Literal["shared_context", "workflow", "facts", "episodes", "long_term", "summaries", "window"]
"""The part that a piece comes from, in the order in which a model reads the parts: the newest messages come last."""
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
"""The share of the budget that each part may fill first; the tokens that are left go to the parts in this order."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of an agent's context."""

    part: Part
    source: str
    """The name under which the service has the piece, such as ``context/style@3``."""
    content: str
    tokens: int
    """How many tokens source and content have together."""

    @classmethod
    def of(cls, part: Part, source: str, content: str, cost: int | None = None) -> "Piece":
        """Make a piece with its tokens; ``cost``: the tokens of the content, None: they are estimated."""
        return cls(part, source, content, tokens(source) + (tokens(content) if cost is None else cost))


@dataclass(frozen=True, slots=True)
class Offer:
    """The pieces that a part offers, the most wanted first."""

    pieces: Sequence[Piece] = ()
    unbroken: bool = False
    """Whether a piece that does not fit excludes the pieces behind it: a conversation may not lack its middle."""
    newest_first: bool = False
    """Whether a model reads the pieces from the last to the first."""
    absent: Sequence[str] = ()
    """Names of documents that were asked for and are not there."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The pieces that fit, in the order in which a model reads them."""

    pieces: Sequence[Piece]
    left_out: Mapping[Part, int] = field(default_factory=dict)
    """How many pieces of a part did not fit."""

    @property
    def tokens(self) -> int:
        """How many tokens all pieces have."""
        return sum(piece.tokens for piece in self.pieces)


def fit(offers: Mapping[Part, Offer], max_tokens: int) -> Fitted:
    """Choose pieces that cost at most ``max_tokens`` together.

    Each part that offers pieces may first fill its share (``WEIGHTS``). The tokens that are left then go to the parts
    in the order of ``WEIGHTS``: each part takes the pieces that still fit.
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
    """The pieces of an offer that are taken so far."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._taken = [False] * len(offer.pieces)

    def take(self, most: int) -> int:
        """Take more pieces, of at most ``most`` tokens together, and return the tokens that they have."""
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
