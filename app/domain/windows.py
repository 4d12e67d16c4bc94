"""Windows: the newest messages of an agent's instance, and the summaries of messages that fell out of the window.

Times are milliseconds since the epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from app.domain.author import Author, WriteChannel
from app.domain.messages import NewMessage, Role

Counted: TypeAlias = Literal["told", "estimated"]
"""How the tokens of turns were counted: by the callers, or by ``app.retrieval.selection.tokens``."""
MadeBy: TypeAlias = Literal["model", "reader", "sentences"]
"""How a summary's sentences were chosen: by a language model, by the reader, or as the first ``sentences``."""


@dataclass(frozen=True, slots=True)
class WindowTurn:
    """A message of a window. ``told``: whether the caller counted the tokens; else they are estimated."""

    id: str
    role: str
    content: str
    said_at: int
    tokens: int
    told: bool


@dataclass(frozen=True, slots=True)
class FallingTurn:
    """A turn that is to become a memory, or that is a memory by now.

    Attributes:
        id: The id of the message, as it was appended.
        counted_bytes: The bytes that the turn counts in the quota of bytes.
        idle: Whether the time of the turn's window has passed.
        memory_id: The id of the memory that the turn is; empty where it is not a memory yet.
    """

    place: int
    id: str
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
        """The author that appended the turn: the turn becomes a memory with this author's rights."""
        speakers = None if self.speakers is None else frozenset(self.speakers)
        return Author(self.written_by, cast(WriteChannel, self.written_through), self.issued_at, speakers=speakers)

    @property
    def message(self) -> NewMessage:
        """The turn as a message to ingest."""
        return NewMessage(cast(Role, self.role), self.content, self.said_at)


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window.

    Attributes:
        messages: How many turns the window holds.
        bytes: The bytes of the turns' contents together.
        tokens: The tokens of the turns together, as the callers counted them or as they are estimated.
        fallen: How many turns have fallen out of the window into long-term memory.
        due: Whether turns have to fall out: the window holds more than it keeps, or its time has passed without an
            append.
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
        memories: The ids of the memories that the sentence rests on, at least one.
        weight: How informative the sentence is, 0 to 1: of many sentences those of the highest weight are kept.
    """

    text: str
    memories: Sequence[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of turns that fell out of a window.

    Attributes:
        first_place: The place that the first turn had in the window; ``last_place``: the place of the last turn.
        turns: How many turns are summed up.
        since: When the first turn was said; ``until``: when the last turn was said.
        memories: The ids of memories that the turns are: the memories that the sentences rest on come first.
        sentences: The sentences, in the order of the turns that they come from.
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
        """The places of the first and the last turn: a summary that is made again of the same turns has the same id."""
        return f"{self.first_place}-{self.last_place}"

    @property
    def text(self) -> str:
        """The sentences, each in a line."""
        return "\n".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class AppendedTurns:
    """The outcome of an append.

    Attributes:
        appended: How many messages are new in the window.
        known: How many messages were there already, in the window or in long-term memory.
        state: The window after the append.
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
        tokens: The tokens of these turns together.
        older: How many older turns of the window did not fit.
        summaries: The summaries of turns that fell out of the window, the newest last.
        state: The state of the window; None where there is no window.
    """

    instance: str
    turns: Sequence[WindowTurn]
    tokens: int
    older: int
    state: WindowState | None
    summaries: Sequence[Summary] = ()

    @property
    def counted(self) -> Counted:
        """``told`` where the callers counted the tokens of all these turns, else ``estimated``."""
        return counted(told=all(turn.told for turn in self.turns))


def counted(*, told: bool) -> Counted:
    """Return the word for how tokens were counted."""
    return "told" if told else "estimated"
