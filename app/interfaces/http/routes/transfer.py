"""The routes that export and import a tenant's memories as lines (docs/format.md)."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Annotated, Any, Literal

import structlog
from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.domain.errors import Erasing, InvalidRequest, MalformedRequest, MemoryGatewayError, UnsupportedMediaType
from app.interfaces.http.dependencies import (
    LINES_TYPES,
    NDJSON,
    OCTETS,
    Administrator,
    Importer,
    octets_or,
)
from app.interfaces.http.failures import ACCESS, OUTAGE
from app.interfaces.http.long_body import chunks
from app.interfaces.http.router import Router
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.store import AgentId
from app.runtime.entry import CallEntry
from app.services.transfer.export import Export
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import LINE_BYTES
from app.services.transfer.report import STATUSES, ImportReport


def _lines(example: str, *media_types: str) -> dict[str, Any]:
    """Describe a body of lines, as bytes: a client reads them one by one, or writes them to a file."""
    body = {"schema": {"type": "string", "format": "binary"}, "example": example}
    return {"content": dict.fromkeys(media_types, body)}


_LINES = _lines(examples.LINES, *LINES_TYPES)
_REPORT = _lines(examples.REPORT, *LINES_TYPES)
_IN_LINES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": (
            f"Lines as an export has them, each at most {LINE_BYTES} bytes; as many as there are. They are taken as "
            f"`{NDJSON}` too."
        ),
        **_lines(examples.LINES, OCTETS),  # a generator that does not know the other would leave the operation out
    }
}

transfer = Router("transfer")


class ExportQuery(BaseModel):
    """What an export may be asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent_id: AgentId | None = Field(
        None, description="The only agent whose memories are wanted.", examples=[examples.AGENT_ID]
    )
    vectors: Literal["true", "false"] = Field(
        "false", description="Whether to add the vectors, for a quick import.", examples=["true"]
    )


class ExportResponse(StreamingResponse):
    """Streams an export, and closes the connection if it fails, so that the client sees it is incomplete."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send every chunk. Where the last message of the response is missing, the server closes the connection."""
        request = Request(scope, receive)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for chunk in self.body_iterator:
                if await request.is_disconnected():
                    return
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except MemoryGatewayError as error:
            structlog.get_logger().warning("export_broken_off", code=error.code, reason=error.detail)
            return
        finally:
            if isinstance(self.body_iterator, AsyncGenerator):  # where the caller has gone it has not come to its end
                await self.body_iterator.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@transfer.get(
    "/export",
    needs=(*ACCESS, InvalidRequest, *OUTAGE),
    answers={200: _LINES},
    act="memories.export",
    response_class=Response,
)
async def export(caller: Administrator, query: Annotated[ExportQuery, Query()], request: Request) -> Response:
    """Give out the tenant's memories, or an agent's, line by line, as an administrator.

    The last line has the type `end`: an answer without it is not whole.
    """
    services, agent_id = caller.tenant(query.agent_id)
    running = Export(services.backends, agent_id=agent_id, vectors=query.vectors == "true")
    parts = running.chunks()
    first = await anext(parts)  # a failure before the first chunk is answered as a problem
    return ExportResponse(_with_first(first, parts, running, caller), media_type=octets_or(NDJSON, request))


@transfer.post(
    "/import",
    Erasing,
    body=(MalformedRequest, UnsupportedMediaType, InvalidRequest),
    needs=OUTAGE,
    answers={200: _REPORT},
    act="memories.import",
    name="import",
    response_class=Response,
    openapi_extra=_IN_LINES,
)
async def import_(caller: Importer, request: Request) -> Response:
    """Take in what an export gave out, as an administrator; what is there already stays as it is.

    The answer, once all has been read, has a line for each line that holds a memory or cannot be taken, and a summary.
    """
    services, only_agent = caller.tenant()
    report = ImportReport()
    try:
        importing = Import(services.backends, report, only_agent=only_agent)
        await import_lines(chunks(request), importing, report)
        caller.counts.update({status: report.counts[status] for status in STATUSES})
    except BaseException:
        report.close()
        raise
    return StreamingResponse(_chunks(report), media_type=octets_or(NDJSON, request))


async def _with_first(
    first: bytes, rest: AsyncIterator[bytes], running: Export, caller: CallEntry
) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        caller.counts["memories"] = running.memories
        yield chunk


def _chunks(report: ImportReport) -> Iterator[bytes]:
    try:
        yield from report.chunks()
    finally:
        report.close()
