"""What the service answers of an agent's assembled context."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """A text of an agent's context.

    Attributes:
        part: ``shared_context``, ``workflow``, ``facts``, ``episodes``, ``long_term`` or ``window``.
        source: What it is, by the name under which the service gives it, such as ``facts/<memory id>``.
        tokens: What source and content cost together, about.
    """

    part: str
    source: str
    tokens: int
    content: str


@dataclass(frozen=True, slots=True)
class PrefetchedMemories:
    """What was recalled before the turn: nothing, unless the call asked for it."""

    retrieved: tuple[ContextPiece, ...]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that did not answer, with a problem's code."""

    part: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many pieces of a part did not fit."""

    part: str
    pieces: int


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """An agent's context, in the order in which a model reads it best."""

    agent_id: str
    max_tokens: int
    tokens: int
    pieces: tuple[ContextPiece, ...]
    long_term: PrefetchedMemories
    missing: tuple[MissingPart, ...]
    left_out: tuple[LeftOut, ...]
