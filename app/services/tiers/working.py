"""Working memory of one tenant: keys of an agent's instances, and the turn state and the log of runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.errors import BlobGone, ContentTooLarge, NotFound
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, owner_of
from app.domain.preconditions import Precondition
from app.domain.working import LogEntry, WorkingKey
from app.services.blobs.large_values import LargeValues
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import NO_RUN, errors_of, write
from app.services.tiers.working_refusals import REFUSALS, not_as_asked
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import agent_of_run
from app.storage.tiers.working import (
    STATE_KEY,
    WorkingKeys,
    append_log,
    log_page,
    turn_state,
)

_NO_KEY = "There is no such key, or it has expired."
_NO_STATE = "The run has no state, or it has expired."


@dataclass(frozen=True, slots=True)
class WorkingWrite:
    """A key whose value was set, and whether the key was created."""

    value: WorkingKey
    created: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """The keys of an instance, and how many bytes of the instance's budget they use."""

    keys: Sequence[WorkingKey]
    used_bytes: int
    limit_bytes: int = limits.WORKING_BYTES


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a run's log, and the number after which the next page begins; None: no entry follows."""

    entries: Sequence[LogEntry]
    after: int | None


@dataclass(frozen=True, slots=True)
class Logged:
    """How many entries were appended, the number of the last entry, and when the entries expire."""

    appended: int
    last: int
    expires_at: int


class WorkingMemory:
    """Keeps the scratch state of one tenant's agents; the tenant is bound here. Expired data are never returned."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._large = LargeValues(backends)

    async def set(
        self, agent_id: str, instance: str, key: str, value: Json, *, ttl_seconds: int, only: Precondition
    ) -> WorkingWrite:
        """Set a key of an instance, where the key fulfils the precondition.

        Raises:
            PreconditionFailed: the key does not fulfil it; nothing was changed.
            ContentTooLarge: the instance would hold too many bytes, or there is no object store for a large value;
                nothing was changed.
            QuotaExceeded: the instance has too many keys, or the tenant too many instances or, for a large value,
                blobs; nothing was changed.
            InvalidRequest: a field is outside its bounds.
            Erasing, Unauthenticated, Unavailable: as ``write`` says.
        """
        self._check(agent_id, instance, key)
        return await self._set(self._keys(agent_id, instance), key, value, ttl_seconds, only)

    async def get(self, agent_id: str, instance: str, key: str) -> WorkingKey:
        """Return a key with its value.

        Raises:
            NotFound: there is no such key, or it has expired; or ``BlobGone``: its value is lost.
            InvalidRequest: a field is outside its bounds.
            Unavailable: the database does not answer.
        """
        self._check(agent_id, instance, key)
        return await self._read(self._keys(agent_id, instance).one(key), absent=_NO_KEY)

    async def list(self, agent_id: str, instance: str) -> Contents:
        """Return all keys of an instance, by their names; an instance that was never used has no keys.

        A key with a large value has the pointer to it in place of the value.

        Raises:
            InvalidRequest, Unavailable: as ``get`` says.
        """
        self._check(agent_id, instance)
        keys = self._keys(agent_id, instance)
        rows, (used,) = await self._database.run([keys.every(), keys.used()])
        return Contents(read_rows(WorkingKey, rows), int(used["used"] or 0))

    async def delete(self, agent_id: str, instance: str, key: str, only: Precondition) -> None:
        """Delete a key that fulfils the precondition. Without a precondition, a key that is not there is no error.

        Raises:
            PreconditionFailed: the key does not fulfil it; nothing was deleted.
            InvalidRequest: a field is outside its bounds.
            Erasing, Unauthenticated, Unavailable: as ``write`` says.
        """
        self._check(agent_id, instance, key)
        keys = self._keys(agent_id, instance)
        if only.absent:
            (rows,) = await self._database.run([keys.one(key)])
            if rows:
                raise not_as_asked()
        delete = [] if only.absent else [keys.delete(key, only)]
        deleted = (await write(self._backends, keys.scope, delete, kind="upkeep"))[0] if delete else []
        for blob_id in (row["blob_id"] for row in deleted):
            await self._large.remove(agent_id, None if blob_id is None else str(blob_id))
        if only.match is not None and not deleted:
            raise not_as_asked()

    async def set_state(
        self, run_id: str, value: Json, *, ttl_seconds: int, only: Precondition, only_agent: str | None
    ) -> WorkingWrite:
        """Set the turn state of a run, which counts in the budget of the instance of the run's id; raises as ``set``.

        Raises:
            NotFound: there is no such run, or the run is not one of ``only_agent``.
        """
        scope = await self._run(run_id, only_agent)
        return await self._set(WorkingKeys(scope, run_id, of_run=True), STATE_KEY, value, ttl_seconds, only)

    async def state(self, run_id: str, *, only_agent: str | None) -> WorkingKey:
        """Return the turn state of a run.

        Raises:
            NotFound: there is no such run, the run is not one of ``only_agent``, or it has no state; or ``BlobGone``:
                its state is lost.
            InvalidRequest: the id has not the form of a run's id.
            Unavailable: the database does not answer.
        """
        limits.check(("run_id", limits.RUN_ID, run_id))
        return await self._read(turn_state(owner_of(self._backends.tenant_id, only_agent), run_id), absent=NO_RUN)

    async def append_log(
        self, run_id: str, entries: Sequence[Json], *, ttl_seconds: int, only_agent: str | None
    ) -> Logged:
        """Append entries to the log of a run.

        Raises:
            NotFound: there is no such run, or the run is not one of ``only_agent``.
            ContentTooLarge: the log would hold too many bytes; nothing was appended.
            QuotaExceeded: the tenant has too many instances; nothing was appended.
            InvalidRequest: a field is outside its bounds.
            Erasing, Unauthenticated, Unavailable: as ``write`` says; the entries may have been appended.
        """
        scope = await self._run(run_id, only_agent)
        limits.check(("ttl_seconds", limits.WORKING_TTL, ttl_seconds))
        limits.check(*((f"entries.{number}", limits.LOG_ENTRY, entry) for number, entry in enumerate(entries)))
        entries = await self._backends.screened(entries, "entries")
        texts = [to_json(entry) for entry in entries]
        async with errors_of(REFUSALS):
            *_, (end,) = await write(self._backends, scope, append_log(scope, run_id, texts, ttl_seconds))
        return Logged(len(texts), int(end["number"] or 0), int(end["expires_at"] or 0))

    async def log(self, run_id: str, *, limit: int, after: int, only_agent: str | None) -> LogPage:
        """Return the next entries of a run's log behind a number, oldest first.

        Raises:
            NotFound: there is no such run, or the run is not one of ``only_agent``.
            InvalidRequest: the id has not the form of a run's id.
            Unavailable: the database does not answer.
        """
        scope = await self._run(run_id, only_agent)
        (rows,) = await self._database.run([log_page(scope, run_id, limit=limit, after=after)])
        entries = read_rows(LogEntry, rows[:limit])
        return LogPage(entries, entries[-1].number if len(rows) > limit else None)

    async def _set(
        self, keys: WorkingKeys, key: str, value: Json, ttl_seconds: int, only: Precondition
    ) -> WorkingWrite:
        limits.check(("value", limits.WORKING_VALUE, value), ("ttl_seconds", limits.WORKING_TTL, ttl_seconds))
        value = await self._backends.screened(value, "value")
        text, agent_id = to_json(value), keys.scope.agent_id
        async with self._large.kept(agent_id, "value", text) as kept:
            put = keys.put(key, kept.text, ttl_seconds, only, size=len(text.encode()), blob_id=kept.blob_id)
            async with errors_of({**REFUSALS, "over_budget": lambda _: self._over_budget(keys)}):
                before, _, (row,) = await write(self._backends, keys.scope, put)
        for replaced in read_rows(WorkingKey, before):
            await self._large.remove(agent_id, replaced.blob_id)
        return WorkingWrite(replace(read_row(WorkingKey, row), value=value), created=not before)

    async def _read(self, statement: ScopedStatement, *, absent: str) -> WorkingKey:
        """Read a key with its whole value. Read the key again where a write replaced its blob meanwhile."""
        lost = None
        while True:
            (rows,) = await self._database.run([statement])
            if not rows or rows[0]["key"] is None:
                raise NotFound(_NO_STATE if rows else absent)
            key = read_row(WorkingKey, rows[0])
            try:
                return replace(key, value=await self._large.load(key.value, key.blob_id))
            except BlobGone:
                if key.blob_id == lost:
                    raise
                lost = key.blob_id

    async def _over_budget(self, keys: WorkingKeys) -> ContentTooLarge:
        ((used,),) = await self._database.run([keys.used()])
        message = (
            f"does not fit: the instance holds {used['used']} bytes of keys and values, at most "
            f"{limits.WORKING_BYTES} are allowed"
        )
        return ContentTooLarge.of_field("value", message, "Nothing was changed.")

    async def _run(self, run_id: str, only_agent: str | None) -> Scope:
        """Return the scope of a run's agent."""
        limits.check(("run_id", limits.RUN_ID, run_id))
        (rows,) = await self._database.run([agent_of_run(owner_of(self._backends.tenant_id, only_agent), run_id)])
        if not rows:
            raise NotFound(NO_RUN)
        return Scope(self._backends.tenant_id, str(rows[0]["agent_id"]))

    def _keys(self, agent_id: str, instance: str) -> WorkingKeys:
        return WorkingKeys(Scope(self._backends.tenant_id, agent_id), instance)

    def _check(self, agent_id: str, instance: str, key: str | None = None) -> None:
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("instance", limits.INSTANCE, instance),
            ("key", limits.WORKING_KEY, key),
        )
