"""Values that are too large for a row: the row has a pointer in their place, and the object store has the values.

The row names the blob beside the pointer. The triggers of ``schema.sql`` set a blob to 'stored' in the statement that
writes its row, and to 'deleting' in the statement that removes or overwrites the row. So, whenever a process is killed,
no row that is read points to a value that was never stored, and no blob stays whose row has gone.
"""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from app.domain import limits
from app.domain.blobs import Blob
from app.domain.errors import BlobGone, ContentTooLarge, MemoryGatewayError, UpstreamTimeout
from app.domain.json_types import Json, same_json, to_json
from app.ports.database import RunRefused
from app.services.blobs.blobs import Blobs
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import WriteKind

_MEDIA_TYPE = "application/json"
_LATE = "blob_late"
"""The reason with which the schema refuses a row whose blob was given up meanwhile."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value as its row has it: the JSON of the value, or the pointer to a blob and the blob's id."""

    text: str
    blob_id: str | None = None


class LargeValues:
    """Keeps the large values of one tenant, bound here. Each value is a blob of the agent that has the row."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._blobs = Blobs(backends)
        self._objects = backends.data.objects

    @asynccontextmanager
    async def kept(
        self, agent_id: str, field: str, text: str, *, kind: WriteKind = "store"
    ) -> AsyncIterator[StoredValue]:
        """Yield a JSON text as its row is to have it, while the row is written; remove a blob that no row names then.

        ``reconcile`` finds a blob that cannot be removed now.

        Raises:
            ContentTooLarge: the value is large, and there is no object store; the error names the field.
            UpstreamTimeout: the write took so long that the blob was given up; nothing was written.
            QuotaExceeded, Erasing, Unauthenticated, Unavailable: as ``Blobs.put`` does.
        """
        kept = await self._keep(agent_id, field, text, kind)
        try:
            yield kept
        except RunRefused as refusal:
            if refusal.reason == _LATE:
                raise UpstreamTimeout("The value was not kept in time. Send it again.") from refusal
            raise
        finally:
            if kept.blob_id is not None:
                with suppress(MemoryGatewayError):
                    await self._blobs.give_up(agent_id, kept.blob_id)

    async def _keep(self, agent_id: str, field: str, text: str, kind: WriteKind) -> StoredValue:
        if not is_large(text):
            return StoredValue(text)
        data = text.encode()
        if not self._objects.there:
            message = (
                f"has {len(data)} bytes as JSON, at most {limits.LARGE_VALUE_BYTES} are allowed where the service "
                "has no object store"
            )
            raise ContentTooLarge.of_field(field, message)
        blob = await self._blobs.begin(agent_id, data, _MEDIA_TYPE, kind=kind)
        told: dict[str, Json] = {"id": blob.id, "sha256": blob.sha256, "size": blob.size, "media_type": blob.media_type}
        return StoredValue(to_json({"blob": told}), blob.id)

    async def remove(self, agent_id: str, blob_id: str | None) -> None:
        """Remove the blob that a row named. ``prune`` removes a blob that cannot be removed now."""
        if blob_id is not None:
            with suppress(MemoryGatewayError):
                await self._blobs.delete(agent_id, blob_id)

    async def load(self, held: Json, blob_id: str | None) -> Json:
        """Return the value of a row, which has the JSON ``held`` and names the blob, if any.

        Raises:
            BlobGone: the object store does not have the blob any more.
            UpstreamRejected: the object store has other bytes in its place.
            Unavailable: the object store does not answer.
        """
        if blob_id is None:
            return held
        pointer = _pointer(held)
        blob = Blob(blob_id, pointer["sha256"], pointer["size"], pointer["media_type"], created_at=0)
        return json.loads(await self._blobs.read(blob))  # type: ignore[no-any-return]

    async def same(self, held: Json, blob_id: str | None, value: Json) -> bool:
        """Tell whether a row's value equals another, whatever the order of keys; a lost value may count as different.

        Raises:
            UpstreamRejected, Unavailable: as ``load`` does.
        """
        if blob_id is None:
            return same_json(held, value)
        data, pointer = to_json(value).encode(), _pointer(held)
        if len(data) != pointer["size"]:
            return False
        if hashlib.sha256(data).hexdigest() == pointer["sha256"]:
            return True
        try:
            return same_json(await self.load(held, blob_id), value)
        except BlobGone:
            return False


def is_large(text: str) -> bool:
    """Tell whether a JSON text is too large for a row."""
    return len(text) > limits.LARGE_VALUE_BYTES or len(text.encode()) > limits.LARGE_VALUE_BYTES


def _pointer(held: Any) -> dict[str, Any]:  # noqa: ANN401 - ``_keep`` has written it
    pointer: dict[str, Any] = held["blob"]
    return pointer
