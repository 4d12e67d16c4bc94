"""What a memory states: the value that a key has, such as that "user/lives_in" is "oslo"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

MemoryType: TypeAlias = Literal["fact", "instruction", "event", "task"]
"""What a memory is, by what it states."""
PERHAPS: Final = "Perhaps "
"""What the key of a doubtful fact begins with (ADR 0035); no other key does, for all are in lower case."""
CIRCUMSTANCES: Final = "; "
"""What stands in a key of an older version before the circumstances under which its value holds."""
AS_SAID: Final = "as said"
"""The value, in an older version, of what may have several at a time, such as days of the week."""
TOPIC: Final = "topic:"
"""What the key of a topic begins with, which a language model has named; it has no "/"."""

RELATION: Final = "~"
"""What the key of a relation begins with, of two memories that a reader has compared; no other key does."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of which one value holds at a time: a later one with another value supersedes it (ADR 0025)."""

    key: str
    """Subject and relation, in normal form: "user/lives_in"."""
    value: str
    """The value in normal form: two claims of one value say the same."""
    whole: bool
    """Whether its memory says nothing else."""

    @property
    def subject(self) -> str:
        """Of whom or what the key is, though it be doubtful."""
        return self.key.removeprefix(PERHAPS).partition("/")[0]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a memory states: its claims, and what kind of memory that makes it."""

    claims: Sequence[Claim] = ()
    type: MemoryType | None = None
    """None: a program keeps it for itself."""
    waits: bool = False
    """Whether a reader has still to compare the memory with others, and to say what it is."""
