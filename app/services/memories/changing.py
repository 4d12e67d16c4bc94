"""Changes what is said beside a memory's content: its metadata, its moment and its end of life."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TypedDict

from app.domain import limits
from app.domain.errors import Conflict, FieldError, InvalidRequest, NotFound, Superseded
from app.domain.json_types import Json, to_json
from app.domain.memory import STORE_KEY, Memory, NewMemory
from app.ports.database import RunRefused
from app.services.memories.browse import Browser
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.lookup import Lookup
from app.services.memories.stored_again import patched
from app.services.tenant.backends import TenantBackends
from app.services.tenant.screening import Screening
from app.storage.redating import MOVED, expect, expire, move, note, obstacles

_MEANWHILE = "Another request has changed the memory meanwhile. Look at it again."


class MemoryChange(TypedDict, total=False):
    """New values of a memory's fields; a field that is absent stays as it is."""

    metadata: Mapping[str, Json]
    """Keys that are set, or with null taken away; the others stay."""
    expires_at: int | None
    occurred_at: int | None


class Changes:
    """Changes memories of one tenant, bound here, in the name of an author who may replace what others wrote."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def change(self, agent_id: str, memory_id: str, change: MemoryChange) -> Memory:
        """Change a memory, and return it as it is then. The same change again changes nothing.

        Its content is the same, and so is its id. It is stored again with what is changed: so the index filters by the
        new metadata, and it counts as a store. A reader compares it anew where its moment is another.

        Raises:
            NotFound: the agent has no such memory, or it has expired.
            Superseded: another memory holds in place of this one; nothing was changed.
            Conflict: it was forgotten; another memory says the same, at the new moment or now; another request changes
                it; or its moment is that of a correction. Nothing was changed.
            InvalidRequest: a field is over its limits, or a program keeps the memory for itself; nothing was changed.
            SensitiveContent: the metadata has content that is not kept; nothing was changed.
            MemoryGatewayError: as a store does; a part may be changed, and asking again is safe.
        """
        limits.check(("expires_at", limits.future(self._backends.clock()), change.get("expires_at")))
        added = await self._backends.screened(dict(change.get("metadata", {})), "metadata")
        memory = await self._found(agent_id, memory_id)
        moved = replace(memory, occurred_at=change.get("occurred_at", memory.occurred_at))
        new = NewMemory(
            memory.content,
            patched(memory.metadata, added),
            memory.session_id,
            moved.occurred_at,
            change.get("expires_at", memory.expires_at),
        )
        run = self._backends.data.database.run
        ((row,),) = await run([obstacles(memory.scope, memory_id, hash_=memory.identity, new_hash=moved.identity)])
        _check(memory_id, row, moves=moved.identity != memory.identity)
        if moved.identity != memory.identity:
            hashes = {"hash_": memory.identity, "new_hash": moved.identity}
            await run(move(memory.scope, memory_id, moved.occurred_at, **hashes))
        await self._store_again(moved, memory_id, new, added)
        detail, now = to_json({"fields": sorted(change)}), self._backends.clock()
        expires = [expire(memory.scope, memory_id, change["expires_at"])] if "expires_at" in change else []
        await run([*expires, note(memory.scope, memory_id, self._backends.author, now=now, detail=detail)])
        return await Browser(self._backends).get(agent_id, memory_id)

    async def _store_again(self, memory: Memory, memory_id: str, new: NewMemory, patch: Mapping[str, Json]) -> None:
        """Store what a memory is to be, unless another request has changed its moment meanwhile.

        Of the metadata the keys of ``patch`` alone change, also where another request has changed other keys.
        """
        expected = expect(memory.scope, memory_id, hash_=memory.identity)
        backends = self._backends.with_database(self._backends.data.database.beginning_with(expected))
        as_it_is = replace(backends, screening=Screening())  # its other fields are those of what is there
        try:
            await LongTermMemoryGateway(as_it_is).store(memory.agent_id, new, patch=patch)
        except RunRefused as refusal:
            if refusal.reason != MOVED:
                raise
            raise Conflict(_MEANWHILE) from refusal

    async def _found(self, agent_id: str, memory_id: str) -> Memory:
        found = await Lookup(self._backends).one(agent_id, memory_id)
        if found is None or (found.memory.expires_at or inf) <= self._backends.clock():
            raise NotFound("The agent has no such memory.")
        if found.holder is not None:
            raise Superseded(found.holder)
        if found.memory.forgotten_at is not None:
            raise Conflict("The memory was forgotten. Take that back first (POST .../unforget).")
        if STORE_KEY in found.memory.metadata:
            raise InvalidRequest("A program keeps this memory for itself, and only the program changes it.")
        return found.memory


def _check(memory_id: str, row: Mapping[str, object], *, moves: bool) -> None:
    """Refuse a change of which another memory stands in the way; raises ``Conflict``."""
    if row["holder"] is None:
        raise Conflict(_MEANWHILE)
    if row["holder"] != memory_id:
        raise Conflict(f"Another memory says the same now: change that one, {row['holder']}.")
    if moves and row["taken_by"] is not None:
        message = f"is that of another memory which says the same, {row['taken_by']}"
        raise Conflict(f"occurred_at {message}.", errors=[FieldError("occurred_at", message)])
    if moves and row["corrects"]:
        message = "stays while the memory corrects another, or is corrected: take the correction back first"
        raise Conflict(f"occurred_at {message}.", errors=[FieldError("occurred_at", message)])
