"""Working memory: the keys of an agent's instances, and the turn state and the log of runs (``schema.sql``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain import limits
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, Tenant
from app.domain.preconditions import Precondition
from app.domain.working import LogEntry, WorkingKey
from app.ports.database import NOW
from app.storage.declared import columns_of, insert
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import OF_RUN

STATE_KEY = "/state"
"""The key of a run's turn state; no caller can name it."""

_INSTANCE = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'
  AND {table}.instance = ?1 ->> 'instance'
"""
_LIVING = f"{_INSTANCE.format(table='own')} AND own.expires_at > {NOW}"
_ONE = f"{_LIVING} AND own.key = ?1 ->> 'key'"
_COLUMNS = columns_of(WorkingKey, "own")
_PUT = insert(
    "working_put",
    "agent_id instance key value blob_id bytes ttl_ms of_run if_match if_none_match most_bytes most_keys"
    " most_instances",
    now=NOW,
)
_DELETE = f"""
DELETE FROM working_key AS own WHERE {_ONE} AND (
  ?1 ->> 'if_match' IS NULL OR EXISTS (
    SELECT 1 FROM json_each(?1 ->> 'if_match') AS wanted WHERE wanted.value IN ('*', CAST(own.version AS TEXT))
  )
) RETURNING key, blob_id
"""
_STATE = f"""
SELECT run.agent_id, {_COLUMNS} FROM agent_runs AS run LEFT JOIN working_key AS own
  ON own.tenant_id = run.tenant_id AND own.agent_id = run.agent_id AND own.instance = run.id
  AND own.key = '{STATE_KEY}' AND own.expires_at > {NOW}
WHERE {OF_RUN}
"""
_USED = f"SELECT coalesce(sum(own.bytes), 0) AS used, count(*) AS keys FROM working_key AS own WHERE {_LIVING}"
_APPEND_LOG = insert("working_log_append", "agent_id run_id entries ttl_ms most_bytes most_instances", now=NOW)
_OF_LOG = f"""
entry.tenant_id = ?1 ->> 'tenant_id' AND entry.agent_id = ?1 ->> 'agent_id' AND entry.run_id = ?1 ->> 'run_id'
  AND entry.expires_at > {NOW}
"""
_LOG_END = f"""
SELECT max(entry.number) AS number, max(entry.expires_at) AS expires_at FROM working_log AS entry WHERE {_OF_LOG}
"""
_LOG = f"""
SELECT {columns_of(LogEntry, "entry")} FROM working_log AS entry
WHERE {_OF_LOG} AND entry.number > ?1 ->> 'after' ORDER BY entry.number LIMIT ?1 ->> 'limit' + 1
"""


@dataclass(frozen=True)
class WorkingKeys:
    """Statements over the keys of one instance, which is bound here."""

    scope: Scope
    instance: str
    of_run: bool = False

    def put(
        self, key: str, value: str, ttl_seconds: int, only: Precondition, *, size: int, blob_id: str | None = None
    ) -> list[ScopedStatement]:
        """Set a key; the first statement reads the ``WorkingKey`` before the write, the last the one after it.

        ``size`` is the size of the value in bytes, also where the value is a blob and ``value`` the pointer to it.

        The run raises ``RunRefused`` with ``no_run``, ``precondition_failed``, ``over_budget``, ``too_many_keys`` or
        ``too_many_instances``. The run is not repeated by itself: another write may have come between.
        """
        written = self._write(
            _PUT,
            key=key,
            value=value,
            blob_id=blob_id,
            bytes=size + len(key),
            ttl_ms=ttl_seconds * 1000,
            of_run=self.of_run,
            most_bytes=limits.WORKING_BYTES,
            most_keys=limits.MAX_WORKING_KEYS,
            most_instances=limits.MAX_WORKING_INSTANCES,
            **only.argument,
        )
        return [self.one(key), written, self.one(key)]

    def delete(self, key: str, only: Precondition) -> ScopedStatement:
        """Delete a key that meets the precondition; returns its ``blob_id`` in a row if it was deleted."""
        return self._write(_DELETE, key=key, **only.argument)

    def one(self, key: str) -> ScopedStatement:
        """Read a living key, as a row of ``WorkingKey``."""
        return self._read(f"SELECT {_COLUMNS} FROM working_key AS own WHERE {_ONE}", key=key)

    def every(self) -> ScopedStatement:
        """Read all living keys that callers can name, as rows of ``WorkingKey``."""
        return self._read(
            f"SELECT {_COLUMNS} FROM working_key AS own WHERE {_LIVING} AND own.key <> '{STATE_KEY}' ORDER BY own.key"
        )

    def used(self) -> ScopedStatement:
        """Read the bytes ``used`` and the number of living ``keys``."""
        return self._read(_USED)

    @cached_property
    def _own(self) -> dict[str, Json]:
        return {"instance": self.instance}

    def _read(self, sql: str, **values: Json) -> ScopedStatement:
        return ScopedStatement.read(self.scope, sql, **self._own, **values)

    def _write(self, sql: str, **values: Json) -> ScopedStatement:
        return ScopedStatement.write(self.scope, sql, repeatable=False, **self._own, **values)


def turn_state(owner: Scope | Tenant, run_id: str) -> ScopedStatement:
    """Read the turn state of an owner's run, a ``WorkingKey``: all NULL without a state, no row without the run."""
    return ScopedStatement.read(owner, _STATE, run_id=run_id)


def append_log(scope: Scope, run_id: str, entries: Sequence[str], ttl_seconds: int) -> list[ScopedStatement]:
    """Append JSON texts to a run's log; the last statement reads the last ``number`` and ``expires_at``.

    The run raises ``RunRefused`` with ``no_run``, ``over_log`` or ``too_many_instances``.
    """
    rows: list[Json] = [{"entry": entry, "bytes": len(entry.encode()) + limits.LOG_OVERHEAD} for entry in entries]
    written = ScopedStatement.write(
        scope,
        _APPEND_LOG,
        repeatable=False,
        run_id=run_id,
        entries=to_json(rows),
        ttl_ms=ttl_seconds * 1000,
        most_bytes=limits.LOG_BYTES,
        most_instances=limits.MAX_WORKING_INSTANCES,
    )
    return [written, ScopedStatement.read(scope, _LOG_END, run_id=run_id)]


def log_page(scope: Scope, run_id: str, *, limit: int, after: int) -> ScopedStatement:
    """Read the next living entries of a run's log, oldest first, and one more than ``limit``, as ``LogEntry``."""
    return ScopedStatement.read(scope, _LOG, run_id=run_id, limit=limit, after=after)
