"""The resource that is an agent's assembled context: its template, its URIs, and its text."""

import re
from urllib.parse import unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from app.domain.errors import InvalidRequest
from app.domain.limits import is_id
from app.interfaces.text import one_line, visible
from app.services.assembly.assembler import AssembledContext
from app.services.assembly.budget import PARTS, Part, Piece

MARKDOWN = "text/markdown"
CONTEXT = types.ResourceTemplate(
    name="context",
    title="Context",
    uri_template="memory://context/{instance}",
    description="What the memory holds for the start of a turn of one instance of this agent: shared documents, its "
    "last episodes, and the newest messages of the instance.",
    mime_type=MARKDOWN,
)
HEAD = "Lines that begin with `>` are quoted from memory; all other lines are the memory service's own."
NOTHING = "Nothing is known yet."

_URI = re.compile(r"memory://context/([^/?#]*)")
_WRONG = (
    "This is no resource. There is memory://context/{instance}; the instance is 1 to 64 of the characters "
    "A-Z a-z 0-9 . _ : -, and the agent is the credential's or is named beside it."
)
_HEADINGS: dict[Part, str] = {
    "shared_context": "Shared context",
    "workflow": "Workflow",
    "facts": "Facts",
    "episodes": "Episodes",
    "long_term": "Long-term memory",
    "summaries": "Earlier in this conversation",
    "window": "Window",
}


def instance_of(uri: str) -> str:
    """Return the instance that a URI names.

    Raises:
        MCPError: no resource has this URI.
    """
    found = _URI.fullmatch(uri)
    instance = "" if found is None else unquote(found[1])  # a client that fills in the template writes %3A for a colon
    if not is_id(instance):
        raise MCPError(types.INVALID_PARAMS, _WRONG, {"code": InvalidRequest.code})
    return instance


def context_text(context: AssembledContext) -> str:
    """Return a context as Markdown, which is never empty.

    What a piece holds is a quotation that nothing in it can end: no piece passes for a heading or for a source.
    """
    blocks = [HEAD]
    for part in PARTS:
        if pieces := context.of(part):
            blocks.append(f"## {_HEADINGS[part]}")
            blocks += [_quoted(piece) for piece in pieces]
    left_out, missing = context.fitted.left_out, context.missing
    if left_out:
        blocks.append(
            f"Left out for want of room: {', '.join(f'{_name(part)} ({n})' for part, n in left_out.items())}."
        )
    if missing:
        named = ", ".join(f"{_name(left_out.part)} ({left_out.error.code})" for left_out in missing)
        blocks.append(f"Missing, because it could not be read: {named}. There may be more.")
    if len(blocks) == 1:
        blocks.append(NOTHING)
    return "\n\n".join(blocks) + "\n"


def _quoted(piece: Piece) -> str:
    lines = visible(piece.content.replace("\r\n", "\n")).split("\n")
    return "\n".join([f"Source: {one_line(piece.source)}", "", *(f"> {line}".rstrip() for line in lines)])


def _name(part: Part) -> str:
    return _HEADINGS[part].lower()
