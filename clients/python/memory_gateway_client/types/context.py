"""Types of context.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """A text of the context.

    Attributes:
        part: One of ``shared_context``, ``workflow``, ``facts``, ``episodes``, ``long_term``, ``summaries``,
            ``window``.
        source: What it is, by the name under which the service gives it, and when it was.
        tokens: What source and content cost together, about.
    """

    part: str
    source: str
    tokens: int
    content: str


@dataclass(frozen=True, slots=True)
class PrefetchedMemories:
    """What was recalled before the turn."""

    retrieved: tuple[ContextPiece, ...]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that did not answer.

    Attributes:
        part: One of ``shared_context``, ``workflow``, ``facts``, ``episodes``, ``long_term``, ``summaries``,
            ``window``.
        code: A problem's code.
    """

    part: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not fit of a part.

    Attributes:
        part: One of ``shared_context``, ``workflow``, ``facts``, ``episodes``, ``long_term``, ``summaries``,
            ``window``.
    """

    part: str
    pieces: int


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """An agent's context, in the order in which a model reads it best: what was said last comes last.

    Attributes:
        tokens: What all pieces cost together.
    """

    agent_id: str
    max_tokens: int
    tokens: int
    pieces: tuple[ContextPiece, ...]
    long_term: PrefetchedMemories
    missing: tuple[MissingPart, ...]
    left_out: tuple[LeftOut, ...]
