"""What is checked and what is found: a line that a statement cites, and what of the statement it does not support."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

UngroundedKind: TypeAlias = Literal[
    "number", "date", "name", "quotation", "placeholder", "denial", "person", "claim", "length"
]
"""Denial: what the source denies is affirmed, or the other way round. Person: the source says it of another. Claim: it
does not follow, or nothing tells that it does. Length: it is too long to be read."""


@dataclass(frozen=True, slots=True)
class Source:
    """A line that a statement cites.

    ``said_at``: when it was said (ms since the epoch), from which "yesterday" is counted; None: it counts no days.
    ``speaker``: "user", "assistant" or a name, who is "I" in it; "": not known, it may be anybody.
    """

    text: str
    said_at: int | None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """A part of a statement that its sources do not support, as the statement has it."""

    kind: UngroundedKind
    text: str
