"""Statements over the blobs of all tenants, for erasures and for reconcile. No request imports them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Statement
from app.storage.erasures import OF_SCOPE
from app.storage.lease_rule import void
from app.storage.system.erasing import RunningErasure

ON_ITS_WAY_MS = 300_000
"""An object whose row says 'writing' may still come for this long: longer than a ``put`` takes (``PUT_SECONDS``)."""
SETTLED_MS = 3_600_000
"""The write of a blob that is older than this has ended, or no process carries it on."""
WINDOW = 500
"""Rows that a comparison reads at once."""
MAX_ERASED = 100
"""Blobs that one step of an erasure removes, with a call of the object store for each: the indexer waits for it."""

_SCOPE = OF_SCOPE.format(table="blob")
_ERASED = f"{_SCOPE} AND blob.id IN (SELECT value FROM json_each(?1, '$.ids'))"
_ERASURE = "erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'"
_OF_ERASURE = f"""
SELECT blob.id, blob.state = 'writing' AND blob.created_at > {NOW} - {ON_ITS_WAY_MS} AS on_its_way
FROM blob WHERE {_SCOPE} ORDER BY on_its_way, blob.id LIMIT {MAX_ERASED}
"""
# A blob may have been begun while the database's clock was ahead: its object may still come, as if it were begun now.
_DATE_ANEW = f"""
UPDATE blob SET created_at = {NOW} WHERE {_SCOPE} AND blob.state = 'writing' AND {void("blob.created_at", 0)}
"""
_COUNT_ERASED = f"""
UPDATE erasure SET advanced_at = {NOW},
  tiers = json_set(tiers, '$.blobs', coalesce(tiers ->> '$.blobs', 0) + (SELECT count(*) FROM blob WHERE {_ERASED}))
WHERE {_ERASURE}
"""
_WAIT = f"UPDATE erasure SET advanced_at = {NOW} WHERE {_ERASURE}"
_DELETE_ERASED = f"DELETE FROM blob WHERE {_ERASED}"

_TENANTS = f"""
SELECT blob.tenant_id FROM blob WHERE blob.tenant_id > ?1 ->> 'after' GROUP BY blob.tenant_id
ORDER BY blob.tenant_id LIMIT {WINDOW}
"""
_OF_TENANT = f"""
SELECT blob.id, blob.size, blob.state, blob.created_at <= {NOW} - {SETTLED_MS} AS settled
FROM blob WHERE blob.tenant_id = ?1 ->> 'tenant_id' AND blob.id > ?1 ->> 'after' ORDER BY blob.id LIMIT {WINDOW}
"""
_GIVEN_UP = f"""
blob.tenant_id = ?1 ->> 'tenant_id' AND blob.id IN (SELECT value FROM json_each(?1, '$.ids'))
  AND blob.created_at <= {NOW} - {SETTLED_MS}
"""
_CONDEMN = f"UPDATE blob SET state = 'deleting' WHERE {_GIVEN_UP} AND blob.state = 'writing'"
_REMOVE = f"DELETE FROM blob WHERE {_GIVEN_UP} AND blob.state = 'deleting'"

# The first condition lets SQLite use the index, which has the rows that are not 'stored'.
_LET_GO = f"""
SELECT blob.tenant_id, blob.id FROM blob INDEXED BY blob_unfinished
WHERE blob.state <> 'stored' AND blob.state = 'deleting'
ORDER BY blob.created_at, blob.tenant_id, blob.id LIMIT {MAX_ERASED}
"""
_REMOVE_LET_GO = """
DELETE FROM blob
WHERE (blob.tenant_id, blob.id) IN (SELECT gone.value ->> 0, gone.value ->> 1 FROM json_each(?1, '$.gone') AS gone)
  AND blob.state = 'deleting'
"""


@dataclass(frozen=True, slots=True)
class ErasedBlob:
    """A blob that an erasure has to remove; ``on_its_way``: its object may still come."""

    id: str
    on_its_way: bool


@dataclass(frozen=True, slots=True)
class BlobRow:
    """A row of a blob; ``settled``: the row is so old that no process works on it any more."""

    id: str
    size: int
    state: str
    settled: bool


def of_erasure(erasure: RunningErasure) -> list[Statement]:
    """Read the next blobs of an erasure, as ``ErasedBlob``, with the last statement; those on their way come last."""
    argument = erasure.argument
    return [Statement.write(_DATE_ANEW, repeatable=True, **argument), Statement.read(_OF_ERASURE, **argument)]


def erased(erasure: RunningErasure, ids: Sequence[str]) -> list[Statement]:
    """Count blobs whose objects are gone, and remove their rows."""
    argument = {**erasure.argument, "ids": [*ids]}
    return [Statement.write(sql, repeatable=True, **argument) for sql in (_COUNT_ERASED, _DELETE_ERASED)]


def waits(erasure: RunningErasure) -> Statement:
    """Let other erasures come first."""
    return Statement.write(_WAIT, repeatable=True, **erasure.argument)


def let_go() -> Statement:
    """Read the ``tenant_id`` and ``id`` of the next blobs that are 'deleting': their objects are to be removed."""
    return Statement.read(_LET_GO)


def remove_let_go(gone: Sequence[tuple[str, str]]) -> Statement:
    """Remove the rows of blobs that ``let_go`` returned, by tenant and id, once their objects are gone."""
    return Statement.write(_REMOVE_LET_GO, repeatable=True, gone=[list(each) for each in gone])


def tenants(after: str) -> Statement:
    """Read the next tenants that have blobs, in the order of their ids."""
    return Statement.read(_TENANTS, after=after)


def of_tenant(tenant_id: str, after: str) -> Statement:
    """Read a tenant's next ``BlobRow``, in the order of their ids."""
    return Statement.read(_OF_TENANT, tenant_id=tenant_id, after=after)


def condemn(tenant_id: str, ids: Sequence[str]) -> Statement:
    """Mark blobs that were given up as 'deleting', so that no process carries on with them; their objects go next."""
    return Statement.write(_CONDEMN, tenant_id=tenant_id, ids=[*ids])


def remove(tenant_id: str, ids: Sequence[str]) -> Statement:
    """Remove the rows of blobs that were given up, and whose objects are gone."""
    return Statement.write(_REMOVE, tenant_id=tenant_id, ids=[*ids])
