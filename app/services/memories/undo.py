"""Takes back the writes of one credential (docs/decisions/0019-who-wrote-a-memory.md)."""

from dataclasses import dataclass

import structlog

from app.domain import limits
from app.domain.errors import InvalidRequest, QuotaExceeded
from app.domain.memory import Tenant
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.rows import read_row
from app.storage.undoing import count, undo_chunk

MAX_CHUNKS = 10
"""Chunks that one call takes back; where writes are left, the receipt says so."""


@dataclass(frozen=True, slots=True)
class UndoReceipt:
    """Counts of the writes that one call has taken back."""

    credential_id: str
    memories: int
    """Memories that were deleted."""
    changed: int
    """Memories of others that lost the metadata keys that the credential had added, or are remembered again."""
    outcomes: int
    """Outcomes of workflows: they count no more, and their runs may be scored again."""
    more: bool
    """Whether writes are left: undo again."""
    finished_at: int
    """Milliseconds since the epoch, by the database's clock."""


@dataclass(frozen=True, slots=True)
class CredentialWrites:
    """The counts of a credential's writes that still hold: memories, changed memories of others, and outcomes."""

    memories: int
    changed: int
    outcomes: int


class Undo:
    """Revokes a credential and takes back its writes, for one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def count(self, credential_id: str) -> CredentialWrites:
        """Count the writes that ``run`` would take back; raises as ``run`` does, but for ``QuotaExceeded``."""
        limits.check(("credential_id", limits.CREDENTIAL_ID, credential_id))
        ((row,),) = await self._backends.data.database.run([count(Tenant(self._backends.tenant_id), credential_id)])
        return read_row(CredentialWrites, row)

    async def run(self, credential_id: str) -> UndoReceipt:
        """Revoke the credential, delete its memories, and take back its keys and its forgetting of other memories.

        Once this returns, the outcomes of workflows that the credential has reported count no more, and no recall finds
        its memories, as far as they were taken back: the receipt says whether to call again.

        Raises:
            QuotaExceeded: too many credentials of the tenant were revoked; one chunk of the writes is taken back.
            InvalidRequest: the id is malformed, or the caller's own.
            Unavailable: the database does not answer; some writes may be taken back, and calling again is safe.
        """
        limits.check(("credential_id", limits.CREDENTIAL_ID, credential_id))
        author = self._backends.author
        if credential_id == author.credential_id:
            raise InvalidRequest("A credential cannot undo its own work: it would be revoked before the end.")
        memories = changed = outcomes = 0
        tenant = Tenant(self._backends.tenant_id)
        for _ in range(MAX_CHUNKS):
            statements = undo_chunk(tenant, credential_id, author, now=self._backends.clock())
            results = await self._backends.data.database.run([*statements, request_state.read(tenant)])
            (_, _, _, scored), (deleted, lost, (progress,), (state,)) = results[:4], results[-4:]
            self._backends.data.observe(state)
            outcomes += len(scored)
            memories, changed = memories + len(deleted), changed + len(lost)
            if not progress["revoked"]:
                raise QuotaExceeded(
                    f"{limits.MAX_REVOCATIONS} credentials of the tenant were undone, and this one is not revoked. The "
                    "operator revokes it, or all that were issued before a moment (memory-gateway token revoke).",
                    reached="revocations;scope=tenant",
                )
            if not progress["more"]:
                break
        structlog.get_logger().info("undone", of=credential_id, memories=memories, changed=changed, outcomes=outcomes)
        finished_at = int(progress["now"] or 0)
        return UndoReceipt(credential_id, memories, changed, outcomes, bool(progress["more"]), finished_at)
