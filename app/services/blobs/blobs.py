"""Blobs of one tenant: bytes in the object store, each behind a row of the database (ADR 0034).

The row is written before the object and deleted after it. Wherever a process is killed, it leaves a whole blob, or a
row whose state says that the blob is not whole; ``memory-gateway reconcile`` finds such rows.
"""

import asyncio
import hashlib
from contextlib import suppress

from ulid import ULID

from app.domain import limits
from app.domain.blobs import Blob
from app.domain.errors import (
    BlobGone,
    Erasing,
    MemoryGatewayError,
    NotFound,
    QuotaExceeded,
    Unauthenticated,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.domain.memory import Scope, Tenant, owner_of
from app.domain.moments import moment
from app.ports.object_store import ObjectMissing
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import WriteKind, write
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_row
from app.storage.tiers.blobs import BlobRows, BlobUsage

_HASHED_AT_ONCE = 256 * 1024
"""Bytes that are hashed on the event loop at most; more bytes are hashed in a thread."""


class Blobs:
    """Keeps, reads, lists and deletes the blobs of one tenant, bound here.

    A blob belongs to one agent; without an agent it belongs to the tenant, and all of the tenant's agents may read it.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._objects = backends.data.objects

    async def put(self, agent_id: str | None, data: bytes, media_type: str) -> Blob:
        """Keep bytes and return their blob. The same bytes again are another blob.

        Raises:
            ContentTooLarge, InvalidRequest: a field is over its limits; nothing was kept.
            QuotaExceeded: the tenant would have too many blobs, or too many bytes of blobs; nothing was kept.
            Erasing: the agent or the tenant is being erased; nothing was kept.
            Unauthenticated: the credential was revoked; nothing was kept.
            Unavailable: the database or the object store does not answer; the blob may be kept without an answer.
        """
        new_id = (await self.begin(agent_id, data, media_type)).id
        owner = self._owner(agent_id)
        try:
            _, stored = await write(self._backends, owner, BlobRows(owner).finish(new_id), kind="upkeep")
        except (Erasing, Unauthenticated):
            await self.give_up(agent_id, new_id)
            raise
        if not stored:  # the upload took so long that the blob counted as given up
            await self._objects.delete(new_id)
            raise UpstreamTimeout("The blob was not kept in time. Send it again.")
        return read_row(Blob, stored[0])

    async def begin(self, agent_id: str | None, data: bytes, media_type: str, *, kind: WriteKind = "store") -> Blob:
        """Keep bytes as a blob that no call returns yet: a row that points to it makes it stored (``schema.sql``).

        ``give_up`` removes a blob that no row points to, or ``reconcile`` an hour later. Raises as ``put`` does.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("body", limits.BLOB, len(data)),
            ("Content-Type", limits.BLOB_MEDIA_TYPE, media_type),
        )
        owner = self._owner(agent_id)
        rows = BlobRows(owner)
        new_id = str(ULID.from_datetime(moment(self._backends.clock())))
        blob = Blob(new_id, await _hash(data), len(data), media_type, created_at=0)
        _, (used,) = await write(self._backends, owner, rows.begin(blob), kind=kind)
        _check_quota(read_row(BlobUsage, used), blob.size)
        try:
            await self._objects.put(new_id, data, media_type)
        except (UpstreamTimeout, UpstreamUnavailable):  # the object may still be written: its row has to stay
            raise
        except MemoryGatewayError:  # there is no object, or at most a part of a file
            await self._database.run([rows.abandon(new_id)])
            with suppress(MemoryGatewayError):
                await self._objects.delete(new_id)
            await self._database.run([rows.remove(new_id)])
            raise
        return blob

    async def give_up(self, agent_id: str | None, blob_id: str) -> None:
        """Remove a blob that was begun; a blob that is stored by now stays.

        The gate of writes does not apply: this call only removes data, also data that are being erased.

        Raises:
            Unavailable: the database or the object store does not answer.
        """
        rows = BlobRows(self._owner(agent_id))
        (abandoned,) = await self._database.run([rows.abandon(blob_id)])
        if abandoned:
            await self._objects.delete(blob_id)
            await self._database.run([rows.remove(blob_id)])

    async def get(self, agent_id: str | None, blob_id: str) -> Blob:
        """Return a blob without its bytes.

        Raises:
            NotFound: the agent, or without an agent the tenant, has no such blob.
            InvalidRequest: an id is over its limits.
            Unavailable: the database does not answer.
        """
        self._check(agent_id, blob_id)
        (rows,) = await self._database.run([BlobRows(self._owner(agent_id)).one(blob_id)])
        if not rows:
            raise NotFound("There is no such blob.")
        return read_row(Blob, rows[0])

    async def read(self, blob: Blob) -> bytes:
        """Return the bytes of a blob that ``get`` has returned, after a check of their number and their hash.

        Raises:
            BlobGone: the object store has the bytes no longer.
            UpstreamRejected: the object store has other bytes.
            Unavailable: the object store does not answer.
        """
        try:
            data = await self._objects.get(blob.id, most=blob.size)
        except ObjectMissing as error:
            raise BlobGone("The object store does not have the bytes of this blob any more.") from error
        if len(data) != blob.size or await _hash(data) != blob.sha256:
            raise UpstreamRejected("The object store has other bytes for this blob than were written.")
        return data

    async def list(self, agent_id: str | None, *, limit: int, after: ListPosition | None = None) -> ListPage[Blob]:
        """Return the next blobs of an agent, or without an agent of the tenant, newest first.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("limit", limits.LIST_LIMIT, limit))
        wanted = BlobRows(self._owner(agent_id)).page(limit=limit + 1, after=after)
        (rows,) = await self._database.run([wanted])
        return list_page(Blob, rows, limit)

    async def delete(self, agent_id: str | None, blob_id: str) -> None:
        """Delete a blob; an id that names no blob is no error.

        From the first step on no call finds the blob. A repeated call goes on with the steps that are left.

        Raises:
            Erasing: the agent or the tenant is being erased, and the blob with it.
            Unauthenticated: the credential was revoked; nothing was deleted.
            InvalidRequest: an id is over its limits.
            Unavailable: the database or the object store does not answer; deleting it again is safe.
        """
        self._check(agent_id, blob_id)
        owner = self._owner(agent_id)
        rows = BlobRows(owner)
        (found,) = await write(self._backends, owner, [rows.condemn(blob_id)], kind="upkeep")
        if found:
            await self._objects.delete(blob_id)
            await self._database.run([rows.remove(blob_id)])

    def _check(self, agent_id: str | None, blob_id: str) -> None:
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("blob_id", limits.BLOB_ID, blob_id))

    def _owner(self, agent_id: str | None) -> Scope | Tenant:
        return owner_of(self._backends.tenant_id, agent_id)


async def _hash(data: bytes) -> str:
    if len(data) <= _HASHED_AT_ONCE:
        return hashlib.sha256(data).hexdigest()
    return await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())


def _check_quota(used: BlobUsage, size: int) -> None:
    if used.begun:
        return
    if used.blobs >= limits.MAX_BLOBS:
        what, amount, most = "blobs", used.blobs, limits.MAX_BLOBS
    else:
        what, amount, most = "blob_bytes", used.bytes, limits.MAX_BLOBS_BYTES
    raise QuotaExceeded(
        f"This tenant has {used.blobs} blobs of {used.bytes} bytes. With one of {size} bytes it would have more than "
        f"{limits.MAX_BLOBS}, or more than {limits.MAX_BLOBS_BYTES} bytes. Delete those that are not used.",
        reached=f"{what};scope=tenant;used={amount};limit={most}",
    )
