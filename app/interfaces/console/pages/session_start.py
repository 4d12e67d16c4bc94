"""The page that shows what an agent would be given at the start of a session now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.moments import milliseconds, parse_moment
from app.interfaces.console.fields import FormFields, shown_moment
from app.interfaces.console.page import ConsolePage, View, Visit
from app.services.assembly.assembler import ContextWanted
from app.services.assembly.budget import Piece

page: Final = ConsolePage(
    "session-start",
    "Session start",
    "What the agent would be given now: what each tier has, within a budget of tokens, or the summary that hooks give.",
    "Memory",
)
FIELDS = ("what", "query", "instance", "agent_type", "max_tokens")
_TOKENS = 2_000
_OF_MEMORY = ("memories", "facts")
"""The parts of a context whose sources are memories."""


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A piece with what its source says, in parts: a name, and then a moment, a kind or a role."""

    piece: Piece
    source: str
    more: Sequence[str]
    memory_id: str | None
    """The id of the memory that it is; None: it is none."""

    @classmethod
    def of(cls, piece: Piece) -> "ShownPiece":
        """Return what is shown of a piece."""
        source, *more = piece.source.split(" ")
        kind, _, id_ = source.partition("/")
        return cls(piece, source, [_as_shown(part) for part in more if part], id_ if kind in _OF_MEMORY else None)


def _as_shown(part: str) -> str:
    try:
        return shown_moment(milliseconds(parse_moment(part)))
    except ValueError:
        return part


@page.get()
async def show(visit: Visit) -> View:
    """Show the pieces of the context in their order, or the summary; both are what the API answers with."""
    agent, query = visit.agent, visit.query
    asked = {name: query[name] for name in FIELDS}
    shown = {"asked": asked, "assembled": None, "summary": None, "refusal": None, "budget": 0}
    services = visit.entry.agent(agent)
    try:
        if asked["what"] == "summary":
            return View("session_start.html", shown | {"summary": await services.profiles.summary(agent, None)})
        wanted = _wanted(visit, agent, query)
        assembled = await services.assembler.assemble(wanted)
    except InvalidRequest as refusal:
        return View("session_start.html", shown | {"refusal": refusal}, refusal.status)
    pieces = [ShownPiece.of(piece) for piece in assembled.fitted.pieces]
    return View("session_start.html", shown | {"assembled": assembled, "pieces": pieces, "budget": wanted.max_tokens})


def _wanted(visit: Visit, agent: str, query: FormFields) -> ContextWanted:
    text = query.get("query")
    return ContextWanted(
        agent,
        query.number("max_tokens", _TOKENS),
        instance=query.get("instance"),
        agent_type=query.get("agent_type"),
        query=text,
        prefetch=text is not None,
        only_agent=visit.principal.agent_id,
    )
