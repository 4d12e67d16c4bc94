"""Values that are too large for a row: a pointer stands in their place, and the object store has them.

A tier calls ``keep`` before it writes a JSON text and ``load`` after it has read one; both leave small values alone.
"""

import json
from collections.abc import Mapping
from typing import Any

from app.domain import limits
from app.domain.blobs import Blob
from app.domain.errors import BlobGone, NotFound
from app.domain.json_types import Json, to_json
from app.services.backends import TenantBackends
from app.services.tiers.blobs import Blobs

_MEDIA_TYPE = "application/json"
_POINTER_CHARACTERS = 400
_FIELDS = {"id", "sha256", "size", "media_type"}


class LargeValues:
    """Keeps the large values of one tenant, bound here. They are blobs of the agent, or of the tenant without one."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with; the tenant is bound in it."""
        self._blobs = Blobs(backends)

    async def keep(self, agent_id: str | None, text: str) -> str:
        """Return the JSON text itself, or a pointer to it where it has more than ``limits.LARGE_VALUE_BYTES`` bytes.

        A small value that reads like a pointer goes into the store too, so that nobody can make one up. Where the write
        of the pointer fails, ``drop`` removes what it points to.

        Raises:
            QuotaExceeded, Erasing, Unauthenticated, Unavailable: as ``Blobs.put`` does.
        """
        data = text.encode()
        if len(data) <= limits.LARGE_VALUE_BYTES and _pointer(text) is None:
            return text
        blob = await self._blobs.put(agent_id, data, _MEDIA_TYPE)
        told: dict[str, Json] = {"id": blob.id, "sha256": blob.sha256, "size": blob.size, "media_type": blob.media_type}
        return to_json({"blob": told})

    async def load(self, agent_id: str | None, text: str) -> str:
        """Return the JSON text that ``keep`` was given.

        Raises:
            BlobGone: what the pointer names is not there any more.
            UpstreamRejected: the object store has something else in its place.
            Unavailable: the database or the object store does not answer.
        """
        pointer = _pointer(text)
        if pointer is None:
            return text
        return (await self._blobs.read(await self._found(agent_id, pointer))).decode()

    async def drop(self, agent_id: str | None, text: str) -> None:
        """Remove what ``keep`` has put into the store; call it once the row that has the pointer is gone.

        Raises:
            Erasing, Unauthenticated, Unavailable: as ``Blobs.delete`` does.
        """
        pointer = _pointer(text)
        if pointer is not None:
            await self._blobs.delete(agent_id, str(pointer["id"]))

    async def _found(self, agent_id: str | None, pointer: Mapping[str, Any]) -> Blob:
        try:
            blob = await self._blobs.get(agent_id, str(pointer["id"]))
        except NotFound as error:
            raise BlobGone("The value was in a blob that is not there any more.") from error
        if (blob.sha256, blob.size) != (pointer["sha256"], pointer["size"]):
            raise BlobGone("The value was in a blob that is another one now.")
        return blob


def _pointer(text: str) -> Mapping[str, Any] | None:
    """Return what a pointer says; None where the text is none."""
    if len(text) > _POINTER_CHARACTERS or '"blob"' not in text:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    blob = value.get("blob") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(blob, dict) or set(blob) != _FIELDS:
        return None
    return blob if limits.MEMORY_ID.violation(str(blob["id"])) is None else None
