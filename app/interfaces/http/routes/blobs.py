"""The routes of blobs: bytes that are too large, or no text, for a memory or a value."""

from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.types import Receive, Scope, Send

from app.domain.blobs import Blob
from app.domain.errors import (
    BlobGone,
    ContentTooLarge,
    Erasing,
    InvalidCursor,
    MalformedRequest,
    NotFound,
    QuotaExceeded,
)
from app.domain.limits import BLOB_BYTES
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import OCTETS, Administrator, BlobCaller, ReadCaller
from app.interfaces.http.failures import READS
from app.interfaces.http.long_body import announced, chunks
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.blobs import BlobAnswer, BlobId, BlobListAnswer, BlobListQuery, BlobQuery
from app.runtime.entry import CallEntry
from app.runtime.tenant_services import TenantServices

_SENT_AT_ONCE = 256 * 1024
_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}, "example": "hello world"}
_IN: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"Any bytes of any `Content-Type`, at most {BLOB_BYTES}.",
        "content": {OCTETS: _BYTES},
    }
}
_OUT: dict[str, Any] = {
    "description": "The bytes, as a file to keep: a browser does not show them.",
    "content": {OCTETS: _BYTES},
    "headers": {"ETag": {"description": "The SHA-256 of the bytes, in quotes.", "schema": {"type": "string"}}},
}

blobs = Router("blobs")


class BlobResponse(Response):
    """Sends bytes in parts, and holds what their room was taken with until they are sent."""

    def __init__(self, blob: Blob, data: bytes, held: AsyncExitStack) -> None:
        """Answer with a blob. What its sender calls a page or a script must not run as one of this service."""
        headers = {
            "ETag": f'"{blob.sha256}"',
            "Content-Disposition": f'attachment; filename="{blob.id}"',
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-cache",
            "Content-Type": blob.media_type,
        }
        super().__init__(headers=headers)
        self.headers["Content-Length"] = str(len(data))
        self._data = data
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send every part."""
        del scope, receive
        async with self._held:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for start in range(0, len(self._data), _SENT_AT_ONCE):
                part = self._data[start : start + _SENT_AT_ONCE]
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


@blobs.post(
    "/blobs", Erasing, QuotaExceeded, body=(MalformedRequest, ContentTooLarge), status_code=201, openapi_extra=_IN
)
async def put_blob(caller: BlobCaller, query: Annotated[BlobQuery, Query()], request: Request) -> BlobAnswer:
    """Keep bytes, of an agent or, with a credential for all agents, of the tenant as a whole.

    It is answered once they are written as a whole. The same bytes again are another blob.
    """
    agent_id = query.agent_id
    services = caller.every_agent() if agent_id is None else caller.agent(agent_id)
    async with services.backends.admission.blob(announced(request, BLOB_BYTES)):
        media_type = request.headers.get("content-type", "").strip() or OCTETS
        blob = await services.blobs.put(agent_id, b"".join([chunk async for chunk in chunks(request)]), media_type)
    return BlobAnswer.model_validate(blob)


@blobs.get("/blobs", InvalidCursor, response_model_exclude_none=True)
async def list_blobs(caller: ReadCaller, query: Annotated[BlobListQuery, Query()]) -> BlobListAnswer:
    """List the blobs of an agent or, without one, those of the tenant as a whole, newest first."""
    services = _reading(caller, query.agent_id)
    listing = Listing(caller, "blobs", query.cursor, agent_id=query.agent_id)
    page = await services.blobs.list(query.agent_id, limit=query.limit, after=listing.after)
    return BlobListAnswer.model_validate({"blobs": page.items, "cursor": listing.cursor(page.after)})


@blobs.get("/blobs/{blob_id}", NotFound, BlobGone, answers={200: _OUT}, response_class=Response)
async def get_blob(caller: ReadCaller, blob_id: BlobId, query: Annotated[BlobQuery, Query()]) -> Response:
    """Return the bytes of a blob, after a look at their hash.

    410: the object store has lost them. 502 `upstream_rejected`: it has other bytes than were written.
    """
    services = _reading(caller, query.agent_id)
    blob = await services.blobs.get(query.agent_id, blob_id)
    async with AsyncExitStack() as held:
        await held.enter_async_context(services.backends.admission.blob(blob.size))
        return BlobResponse(blob, await services.blobs.read(blob), held.pop_all())


@blobs.delete("/blobs/{blob_id}", needs=(*READS, Erasing), act="blob.delete", status_code=204)
async def delete_blob(caller: Administrator, blob_id: BlobId, query: Annotated[BlobQuery, Query()]) -> None:
    """Delete a blob, as an administrator. One that is not there is no error."""
    agent_id = query.agent_id
    services = caller.every_agent() if agent_id is None else caller.agent(agent_id)
    await services.blobs.delete(agent_id, blob_id)


def _reading(caller: CallEntry, agent_id: str | None) -> TenantServices:
    """Return the services to read blobs of an agent, or of the tenant: these every credential may read."""
    if agent_id is not None:
        return caller.agent(agent_id)
    services, _ = caller.shared()
    return services
