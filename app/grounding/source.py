"""A line that a statement cites, and a part of a statement that its cited lines do not support."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

UngroundedKind: TypeAlias = Literal[
    "number", "date", "name", "quotation", "placeholder", "denial", "person", "claim", "length"
]
"""Denial: the statement affirms what the source denies, or denies what the source affirms. Person: the source says it
of another person. Claim: the statement does not follow, or nothing tells that it does. Length: the statement is too
long to be read."""


@dataclass(frozen=True, slots=True)
class Source:
    """A line that a statement cites.

    ``said_at``: the line's moment (ms since the epoch), from which "yesterday" is counted; None: no day is counted.
    ``speaker``: "user", "assistant" or a name, which "I" means in the line; "": the speaker is not known.
    """

    text: str
    said_at: int | None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """A part of a statement that its sources do not support, as the statement has it."""

    kind: UngroundedKind
    text: str
