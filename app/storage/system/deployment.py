"""The ledger of a deployment: which resources of an account ``memory-gateway deploy`` has made.

The table is in the database of a deployment, and in no other: it is no part of the schema. A resource is noted before
it is made, and only where its name was free, so that what the ledger names is the deployment's own (ADR 0083).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.ports.database import NOW, Database, Statement

_TABLE = """
CREATE TABLE IF NOT EXISTS deployment_ledger (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  fingerprint TEXT NOT NULL DEFAULT '',
  noted_at INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT
"""
_TABLES = Statement.read(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*'"
)
_ENTRIES = Statement.read("SELECT kind, name, fingerprint FROM deployment_ledger ORDER BY kind, name")
_NOTE = f"""
INSERT INTO deployment_ledger (kind, name, fingerprint, noted_at)
SELECT ?1 ->> 'kind', ?1 ->> 'name', coalesce(?1 ->> 'fingerprint', ''), {NOW} WHERE TRUE
ON CONFLICT (kind, name) DO UPDATE SET fingerprint = coalesce(?1 ->> 'fingerprint', deployment_ledger.fingerprint)
"""
_CONFIGS = Statement.read("SELECT index_name AS name FROM embedding_config ORDER BY index_name")


@dataclass(frozen=True, slots=True)
class DeploymentLedger:
    """The ledger as it was read.

    Attributes:
        empty: Whether the database has no table at all: nobody has used it.
        entries: The fingerprint of each resource by its kind and its name; empty where none is known yet. Without an
            entry of the kind ``deployment`` there is no ledger.
        tables: The names of the database's tables.
    """

    empty: bool = True
    entries: Mapping[tuple[str, str], str] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()

    @property
    def is_written(self) -> bool:
        """Whether the database is one that a deployment has made."""
        return bool(self.names("deployment"))

    def has(self, kind: str, name: str) -> bool:
        """Tell whether the deployment has made a resource, or was about to."""
        return (kind, name) in self.entries

    def fingerprint(self, kind: str, name: str) -> str:
        """Return what a resource was like when it was finished; empty where it was not finished."""
        return self.entries.get((kind, name), "")

    def names(self, kind: str) -> list[str]:
        """Return the names of the resources of a kind."""
        return [name for of_kind, name in self.entries if of_kind == kind]


async def read_ledger(database: Database) -> DeploymentLedger:
    """Read the ledger of a database, which need not have one.

    Raises:
        DatabaseUnavailable: the database does not answer.
    """
    (rows,) = await database.run([_TABLES])
    tables = frozenset(str(row["name"]) for row in rows)
    if "deployment_ledger" not in tables:
        return DeploymentLedger(empty=not tables, tables=tables)
    (entries,) = await database.run([_ENTRIES])
    told = {(str(row["kind"]), str(row["name"])): str(row["fingerprint"]) for row in entries}
    return DeploymentLedger(empty=tables == {"deployment_ledger"} and not told, entries=told, tables=tables)


async def note(database: Database, kind: str, name: str, fingerprint: str | None = None) -> None:
    """Note a resource that is about to be made, or with a fingerprint one that is finished. The call may be repeated.

    Raises:
        DatabaseUnavailable: the database cannot be written.
    """
    entry = Statement.write(_NOTE, kind=kind, name=name, fingerprint=fingerprint)
    await database.run([Statement.write(_TABLE), entry])


async def read_index_names(database: Database, ledger: DeploymentLedger) -> list[str]:
    """Return the indexes of the embedding configs that a service has used on the database."""
    if "embedding_config" not in ledger.tables:
        return []
    (rows,) = await database.run([_CONFIGS])
    return [str(row["name"]) for row in rows]
