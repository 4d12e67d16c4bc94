"""Windows: the newest messages of an agent's instance, and the summaries of those that fell out of them.

Times are milliseconds since the epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from app.domain.author import Author, WriteChannel
from app.domain.messages import NewMessage, Role

Counted: TypeAlias = Literal["told", "estimated"]
"""How the tokens of turns are known: as their callers counted them, or by ``app.retrieval.selection.tokens``."""
MadeBy: TypeAlias = Literal["model", "reader", "sentences"]
"""Who chose what a summary says: a language model, the reader, or nobody: then it is the first sentences."""


@dataclass(frozen=True, slots=True)
class WindowTurn:
    """A message of a window. ``told``: whether the caller told its tokens; else they are estimated."""

    id: str
    role: str
    content: str
    said_at: int
    tokens: int
    told: bool


@dataclass(frozen=True, slots=True)
class FallingTurn:
    """A turn that is to become a memory, or that is one by now.

    Attributes:
        counted_bytes: What it counts in the quota of bytes.
        idle: Whether the time of its window has passed.
        memory_id: The memory that it is; empty before.
    """

    place: int
    role: str
    content: str
    said_at: int
    written_by: str | None
    written_through: str
    issued_at: int | None
    speakers: Sequence[str] | None
    counted_bytes: int
    idle: bool
    memory_id: str = ""

    @property
    def author(self) -> Author:
        """Who has brought the turn: it becomes a memory with the rights of this author."""
        speakers = None if self.speakers is None else frozenset(self.speakers)
        return Author(self.written_by, cast(WriteChannel, self.written_through), self.issued_at, speakers=speakers)

    @property
    def message(self) -> NewMessage:
        """The turn as a message, which is ingested."""
        return NewMessage(cast(Role, self.role), self.content, self.said_at)


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window.

    Attributes:
        messages: How many turns it holds.
        bytes: What their contents have together.
        tokens: What they cost together, as it was told or is estimated.
        fallen: How many turns have fallen out of it into long-term memory.
        due: Whether turns have to fall out of it: it holds more than it keeps, or nothing was appended for its time.
    """

    expires_at: int
    messages: int
    bytes: int
    tokens: int
    fallen: int
    fallen_since: int | None
    fallen_until: int | None
    due: bool


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence of a summary.

    Attributes:
        memories: The ids of the memories that it rests on, at least one.
        weight: How telling it is, 0 to 1: of many the most telling are kept.
    """

    text: str
    memories: Sequence[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What sums up turns that fell out of a window.

    Attributes:
        first_place: The place that its first turn had in the window; ``last_place``: of its last.
        turns: How many they are.
        since: When its first turn was said; ``until``: its last.
        memories: The ids of memories that its turns are: those that its sentences rest on come first.
        sentences: What it says, in the order in which that was said.
    """

    first_place: int
    last_place: int
    turns: int
    since: int
    until: int
    made_by: MadeBy
    memories: Sequence[str]
    sentences: Sequence[SummarySentence]

    @property
    def id(self) -> str:
        """The places of its first and its last turn: what is made again of the same turns is the same summary."""
        return f"{self.first_place}-{self.last_place}"

    @property
    def text(self) -> str:
        """Its sentences, each in a line."""
        return "\n".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class AppendedTurns:
    """What became of an append.

    Attributes:
        appended: How many messages are new in the window.
        known: How many were there already, in the window or in long-term memory.
        state: The window after it.
    """

    instance: str
    appended: int
    known: int
    state: WindowState


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a window that fits into the tokens that were asked for.

    Attributes:
        turns: The newest turns, in the order in which they were said.
        tokens: What these turns cost together.
        older: How many older turns the window holds that did not fit.
        summaries: What sums up the turns that fell out of it, the newest last.
        state: The window; None where there is none.
    """

    instance: str
    turns: Sequence[WindowTurn]
    tokens: int
    older: int
    state: WindowState | None
    summaries: Sequence[Summary] = ()

    @property
    def counted(self) -> Counted:
        """Whether the callers told the tokens of all these turns; else some are estimated."""
        return counted(told=all(turn.told for turn in self.turns))


def counted(*, told: bool) -> Counted:
    """Return the word for how tokens were counted."""
    return "told" if told else "estimated"
