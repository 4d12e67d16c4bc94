"""The results of a reader: the relation of two statements, and the kind of a statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from app.domain.claim import MemoryType

RelationName: TypeAlias = Literal["holds", "replaces", "ends", "restates"]
"""The relation of a newer statement to an older one.

``holds``: both hold; ``replaces``: the same thing has another value now; ``ends``: the older statement holds no longer,
and no other value takes its place; ``restates``: the newer statement says the same again.
"""
RELATION_NAMES: Final[tuple[RelationName, ...]] = ("holds", "replaces", "ends", "restates")
SURELY_RESTATES: Final = 0.9
"""How sure a reader has to be, of both directions of a pair, that the texts say the same: below, the packaged reader
lets "stop tea" restate "start tea"."""
KIND_NAMES: Final[tuple[MemoryType, ...]] = ("fact", "event", "instruction", "task")
_LOOKED_AT = 400
"""Characters at the beginning of a text that decide its script."""
_LATIN_ENDS, _LATIN_ADDED, _LATIN_ADDED_ENDS = "\u0250", "\u1e00", "\u1f00"


@dataclass(frozen=True, slots=True)
class Relation:
    """How likely each relation of a newer statement to an older one is; the probabilities add up to 1."""

    holds: float
    replaces: float
    ends: float
    restates: float

    @property
    def update(self) -> float:
        """How likely it is that the older statement holds no longer."""
        return self.replaces + self.ends

    @property
    def name(self) -> RelationName:
        """The likeliest relation."""
        return max(RELATION_NAMES, key=lambda name: getattr(self, name))


@dataclass(frozen=True, slots=True)
class Kinds:
    """How likely a text is of each kind; the probabilities add up to 1."""

    fact: float
    event: float
    instruction: float
    task: float

    @property
    def name(self) -> MemoryType:
        """The likeliest kind."""
        return max(KIND_NAMES, key=lambda name: getattr(self, name))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least probabilities at which the service acts on a reader's result; they come with the reader's weights.

    See docs/reader.md.
    """

    hide: float
    """For an update: the older statement is not returned any more."""
    newer_first: float
    """For an update: both statements are returned, the newer one first."""
    same_frame: float
    """The same for two statements that have the same words but in one place."""
    tells: float
    """For relevance: a text is given as the answer to a question."""
    follows: float
    """For a claim: it counts as following from its sources."""
    task: float
    """For a kind: a text counts as a task, which may expire."""


def are_tasks(kinds: Sequence[Kinds], thresholds: Thresholds) -> bool:
    """Tell whether a reader calls each sentence a task, surely enough that it may expire."""
    return bool(kinds) and all(kind.task >= thresholds.task for kind in kinds)


def is_readable(text: str) -> bool:
    """Tell whether readers know the script of a text: they know Latin, the script of the scenes they were trained on.

    In another script they would only guess. A text without letters is readable.
    """
    beginning = text[:_LOOKED_AT]
    if beginning.isascii():
        return True
    letters = [letter for letter in beginning if letter.isalpha()]
    latin = sum(letter < _LATIN_ENDS or _LATIN_ADDED <= letter < _LATIN_ADDED_ENDS for letter in letters)
    return 2 * latin >= len(letters)
