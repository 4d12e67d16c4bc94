"""The claims of a memory: that a key has a value, such as that "user/lives_in" is "oslo"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

MemoryType: TypeAlias = Literal["fact", "instruction", "event", "task"]
"""The kind of a memory, by what the memory states."""
PERHAPS: Final = "Perhaps "
"""The prefix of a doubtful fact's key (ADR 0035); no other key has it, since all other keys are in lower case."""
CIRCUMSTANCES: Final = "; "
"""In a key of an older version this precedes the circumstances under which the key's value holds."""
AS_SAID: Final = "as said"
"""In an older version this is the value of a key that may have several values at a time, such as days of the week."""
TOPIC: Final = "topic:"
"""The prefix of the key of a topic, which a language model has named; such a key has no "/"."""

RELATION: Final = "~"
"""The prefix of the key of a relation between two memories that a reader has compared; no other key has it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a key's value, of which one holds at a time: a later claim of another value supersedes it.

    See ADR 0025.
    """

    key: str
    """Subject and relation, in normal form: "user/lives_in"."""
    value: str
    """The value in normal form: two claims of one value say the same."""
    whole: bool
    """Whether the claim's memory says nothing else."""

    @property
    def subject(self) -> str:
        """The subject of the key, without the prefix of doubtful facts."""
        return self.key.removeprefix(PERHAPS).partition("/")[0]


@dataclass(frozen=True, slots=True)
class Stated:
    """A memory's claims, and the kind of memory that they make it."""

    claims: Sequence[Claim] = ()
    type: MemoryType | None = None
    """The memory's kind; None: a program keeps the memory for itself."""
    waits: bool = False
    """Whether a reader has still to compare the memory with others, and to tell its kind."""
