"""Statements over the shared documents of one tenant. Rows are read as the types of ``app.domain.context``."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.domain import limits
from app.domain.context import CONFIGURATION, ContextDocument, ContextVersion
from app.domain.json_types import Json
from app.domain.memory import Tenant
from app.domain.preconditions import Precondition
from app.ports.database import NOW
from app.storage.declared import columns_of, insert
from app.storage.scoped import ScopedStatement

_LISTED = columns_of(ContextVersion, "own")
_WHOLE = columns_of(ContextDocument, "own")
_TENANT = "own.tenant_id = ?1 ->> 'tenant_id'"
_NAMED = f"{_TENANT} AND own.name = ?1 ->> 'name'"
_LAST = f"SELECT own.* FROM context_versions AS own WHERE {_NAMED} ORDER BY own.version DESC LIMIT 1"
_WRITTEN = f"SELECT 1 FROM context_versions AS own WHERE {_NAMED} AND own.write_id = ?1 ->> 'write_id'"
_ADMIT = insert(
    "context_write",
    "name write_id size sha256 media_type if_match if_none_match kept most_documents most_bytes uncounted",
)
_PUT = insert(
    "context_versions",
    "name size sha256 media_type write_id content",
    f"""WHERE NOT EXISTS ({_WRITTEN}) AND NOT EXISTS (
  SELECT 1 FROM ({_LAST}) AS last WHERE last.sha256 = ?1 ->> 'sha256' AND last.media_type = ?1 ->> 'media_type'
)""",
    version=f"""1 + coalesce(
    (SELECT max(own.version) FROM context_versions AS own WHERE {_NAMED}),
    (SELECT own.version FROM context_floor AS own WHERE {_TENANT}), 0
  )""",
    updated_at=NOW,
)
_TRIM = f"""
DELETE FROM context_versions AS own WHERE {_NAMED} AND own.version <= (
  SELECT max(last.version) FROM context_versions AS last
  WHERE last.tenant_id = ?1 ->> 'tenant_id' AND last.name = ?1 ->> 'name'
) - ?1 ->> 'kept'
"""
_PUT_ANSWER = f"""
SELECT {_WHOLE} FROM context_versions AS own WHERE {_NAMED}
ORDER BY own.write_id = ?1 ->> 'write_id' DESC, own.version DESC LIMIT 1
"""
_ONE = f"SELECT {_WHOLE} FROM context_versions AS own WHERE {_NAMED} AND own.version = ?1 ->> 'version'"
_CURRENT = f"""
SELECT {_WHOLE}
FROM json_each(?1, '$.names') AS asked CROSS JOIN context_versions AS own
WHERE {_TENANT} AND own.name = asked.value AND own.version = (
  SELECT max(last.version) FROM context_versions AS last
  WHERE last.tenant_id = ?1 ->> 'tenant_id' AND last.name = asked.value
)
"""
# SQLite takes the other columns from the row that has the maximum.
_EVERY = f"""
SELECT {{columns}}
FROM context_versions AS own WHERE {_TENANT} AND own.name <> ?1 ->> 'uncounted' GROUP BY own.name ORDER BY own.name
"""
_VERSIONS = (
    f"SELECT {_LISTED} FROM context_versions AS own WHERE {_NAMED} ORDER BY own.version DESC LIMIT ?1 ->> 'kept'"
)
_RAISE_FLOOR = f"""
INSERT INTO context_floor (tenant_id, version)
SELECT own.tenant_id, max(own.version) FROM context_versions AS own WHERE {_NAMED} GROUP BY own.tenant_id
ON CONFLICT (tenant_id) DO UPDATE SET version = max(context_floor.version, excluded.version)
"""
_DELETE = f"DELETE FROM context_versions AS own WHERE {_NAMED}"
_USED = f"""
SELECT count(DISTINCT own.name) AS documents, coalesce(sum(own.size), 0) AS bytes
FROM context_versions AS own WHERE {_TENANT} AND own.name <> ?1 ->> 'uncounted'
"""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The new version of the document of a name; ``write_id`` is the request's own."""

    name: str
    content: str
    media_type: str
    sha256: str
    write_id: str


@dataclass(frozen=True, slots=True)
class SharedDocuments:
    """Statements over one tenant's documents. The tenant is bound here, once."""

    tenant_id: str

    def put(self, new: NewVersion, only: Precondition) -> list[ScopedStatement]:
        """Write a version unless the document is the same; the last statement returns the version, or that document.

        The run is refused as ``precondition``, ``documents_full`` or ``bytes_full``.
        """
        same: dict[str, Json] = {**asdict(new), "size": len(new.content.encode())}
        del same["content"]
        admit = ScopedStatement.write(
            self._tenant,
            _ADMIT,
            **same,  # type: ignore[arg-type]  # no name of it is repeatable
            **only.argument,  # type: ignore[arg-type]
            kept=limits.MAX_CONTEXT_VERSIONS,
            most_documents=limits.MAX_CONTEXT_DOCUMENTS,
            most_bytes=limits.MAX_CONTEXT_BYTES,
            uncounted=CONFIGURATION,
        )
        put = ScopedStatement.write(self._tenant, _PUT, content=new.content, **same)  # type: ignore[arg-type]
        trim = ScopedStatement.write(self._tenant, _TRIM, name=new.name, kept=limits.MAX_CONTEXT_VERSIONS)
        answer = ScopedStatement.read(self._tenant, _PUT_ANSWER, name=new.name, write_id=new.write_id)
        return [admit, put, trim, answer]

    def delete(self, name: str) -> list[ScopedStatement]:
        """Delete all versions of a name, after noting the highest one, so that no version of it comes back."""
        return [ScopedStatement.write(self._tenant, sql, name=name) for sql in (_RAISE_FLOOR, _DELETE)]

    def current(self, names: Sequence[str]) -> ScopedStatement:
        """Read those documents of these names that exist."""
        return ScopedStatement.read(self._tenant, _CURRENT, names=list(names))

    def every(self, *, content: bool) -> ScopedStatement:
        """Read all documents by their names, without the configuration."""
        kind = ContextDocument if content else ContextVersion
        sql = _EVERY.format(columns=columns_of(kind, "own", version="max(own.version)"))
        return ScopedStatement.read(self._tenant, sql, uncounted=CONFIGURATION)

    def version(self, name: str, version: int) -> ScopedStatement:
        """Read one version of a name."""
        return ScopedStatement.read(self._tenant, _ONE, name=name, version=version)

    def versions(self, name: str) -> ScopedStatement:
        """Read the versions of a name that are kept, newest first."""
        return ScopedStatement.read(self._tenant, _VERSIONS, name=name, kept=limits.MAX_CONTEXT_VERSIONS)

    def used(self) -> ScopedStatement:
        """Read how many documents and bytes the tenant has: one row."""
        return ScopedStatement.read(self._tenant, _USED, uncounted=CONFIGURATION)

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)
