"""The routes for administrative acts: what was done with the tenant's data beside storing and recalling."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query, Request, Response

from app.domain.acts import ActFilter
from app.domain.errors import InvalidCursor
from app.domain.json_types import to_json
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import LINES_TYPES, NDJSON, Administrator, octets_or
from app.interfaces.http.router import Router
from app.interfaces.http.routes.transfer import ExportResponse
from app.interfaces.http.schemas.acts import ACT, ActsAnswer, ActsQuery
from app.runtime.entry import CallEntry
from app.services.access.acts import Acts

_BODY = {"schema": {"type": "string", "format": "binary"}, "example": f"{to_json(ACT)}\n"}
_LINES = {
    "description": "A line of JSON for each act, oldest first.",
    "content": dict.fromkeys(LINES_TYPES, _BODY),
}

acts = Router("audit")


@acts.get("/audit/acts", InvalidCursor, name="acts", response_model_exclude_unset=True)
async def list_acts(caller: Administrator, query: Annotated[ActsQuery, Query()]) -> ActsAnswer:
    """List administrative acts and refused attempts, newest first, to an administrator of all agents."""
    where = query.to(ActFilter)
    listing = Listing(caller, "acts", query.cursor, where=where)
    page = await _of(caller).list(where, limit=query.limit, after=listing.after)
    return ActsAnswer.model_validate({"acts": page.items, "cursor": listing.cursor(page.after)})


@acts.get("/audit/acts/export", answers={200: _LINES}, act="acts.export", response_class=Response)
async def export_acts(caller: Administrator, request: Request) -> Response:
    """Give out all administrative acts, oldest first, a line of JSON each, to an administrator of all agents.

    The last line is of the act that this request is. Keep the lines where nobody can change them.
    """
    pages = _of(caller).lines()
    first = await anext(pages)  # a failure before the first page is answered as a problem
    return ExportResponse(_with_first(first, pages), media_type=octets_or(NDJSON, request))


async def _with_first(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for page in rest:
        yield page


def _of(caller: CallEntry) -> Acts:
    return caller.every_agent().acts
