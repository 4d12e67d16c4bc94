"""Rows of any declared table in bulk: pages of them on their way out of a tenant, and batches on their way in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.json_types import Json, Scalar
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import TierTable

PAGE_ROWS = 500
PAGE_BYTES = 1_000_000

# The inner queries read keys and sizes alone, so that what does not fit into the page is not carried along.
_PAGE = """
SELECT {columns}, page.found
FROM (
  SELECT {key}, count(*) OVER () AS found,
    sum(bytes) OVER (ORDER BY {key} ROWS UNBOUNDED PRECEDING) - bytes AS before
  FROM (
    SELECT {held_key}, {bytes} AS bytes FROM {table} AS held
    WHERE held.tenant_id = ?1 ->> 'tenant_id' {after} {agent} {living}
    ORDER BY {held_key} LIMIT {page_rows}
  )
) AS page CROSS JOIN {table} AS held
WHERE held.tenant_id = ?1 ->> 'tenant_id' AND {same_key} AND page.before < {page_bytes}
ORDER BY {held_key}
"""
_KNOWN = """
SELECT {columns} FROM json_each(?1, '$.keys') AS wanted CROSS JOIN {table} AS held
WHERE held.tenant_id = ?1 ->> 'tenant_id' AND {wanted_key}
"""
_INSERT = """
INSERT INTO {table} (tenant_id, {names})
SELECT ?1 ->> 'tenant_id', {values} FROM {lines} AS line WHERE {admitted}
ON CONFLICT DO NOTHING
"""
# The lines of a batch, each with what it is of those that would be new: the first ones, as many as there is room for,
# are written. What is there already takes no room.
_RANKED = """(
  SELECT value, there, dense_rank() OVER (PARTITION BY there ORDER BY unit) AS place FROM (
    SELECT given.value AS value, given.value ->> '$.{unit}' AS unit,
      given.value ->> '$.{unit}' = '{without}' OR EXISTS (
        SELECT 1 FROM {table} AS held
        WHERE held.tenant_id = ?1 ->> 'tenant_id' AND held.{unit} = given.value ->> '$.{unit}'
      ) AS there
    FROM json_each(?1, '$.rows') AS given WHERE {possible}
  )
)"""
_OF_RUN = """EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = {line}.value ->> '$.run_id'
    AND run.agent_id = {line}.value ->> '$.agent_id'
)"""
_WITHOUT_RUN = f"SELECT line.key AS place FROM json_each(?1, '$.rows') AS line WHERE NOT {_OF_RUN.format(line='line')}"


@dataclass(frozen=True, slots=True)
class TierRows:
    """Statements over the rows of one table of one tenant, and with ``agent_id`` of one of its agents."""

    tenant_id: str
    tier: TierTable
    agent_id: str | None = None

    def page(self, after: Sequence[Scalar] | None) -> ScopedStatement:
        """Read the rows that follow the key ``after``, by their keys; ``found`` tells how many were looked at."""
        key, columns = self.tier.key, self.tier.columns
        place = ", ".join(f"?1 ->> '$.after[{number}]'" for number in range(len(key)))
        sql = _PAGE.format(
            columns=_named(columns),
            key=", ".join(key),
            held_key=_named(key),
            bytes=" + ".join(f"coalesce(length(CAST(held.{column} AS BLOB)), 0)" for column in columns),
            table=self.tier.table,
            after="" if after is None else f"AND ({_named(key)}) > ({place})",
            agent="" if self.agent_id is None else "AND held.agent_id = ?1 ->> 'agent_id'",
            living=f"AND held.expires_at > {NOW}" if self.tier.expires else "",
            same_key=" AND ".join(f"held.{column} = page.{column}" for column in key),
            page_rows=PAGE_ROWS,
            page_bytes=PAGE_BYTES,
        )
        return ScopedStatement.read(Tenant(self.tenant_id), sql, agent_id=self.agent_id, after=_listed(after))

    def known(self, rows: Sequence[Mapping[str, Scalar]]) -> ScopedStatement:
        """Read what the tenant has under the keys of these rows."""
        sql = _KNOWN.format(
            columns=_named(self.tier.columns),
            table=self.tier.table,
            wanted_key=" AND ".join(
                f"held.{column} = wanted.value ->> {number}" for number, column in enumerate(self.tier.key)
            ),
        )
        keys: list[Json] = [[row[column] for column in self.tier.key] for row in rows]
        return ScopedStatement.read(Tenant(self.tenant_id), sql, keys=keys)

    def insert(self, rows: Sequence[Mapping[str, Scalar]], most: int | None = None) -> ScopedStatement:
        """Write rows; one whose key is taken is left out. What a column is not given is NULL.

        With ``most`` a row is left out with which the tenant would have more than so many of what is ``bounded``.
        """
        columns, bounded = self.tier.columns, self.tier.bounded
        lines, admitted = "json_each(?1, '$.rows')", self._possible("line")
        if bounded is not None and most is not None:
            lines = _RANKED.format(
                unit=bounded.unit, without=bounded.without, table=self.tier.table, possible=self._possible("given")
            )
            admitted += f" AND (line.there OR line.place <= ?1 ->> 'most' - {bounded.used})"
        sql = _INSERT.format(
            table=self.tier.table,
            names=", ".join(columns),
            values=", ".join(f"line.value ->> '$.{column}'" for column in columns),
            lines=lines,
            admitted=admitted,
        )
        given: list[Json] = [dict(row) for row in rows]
        return ScopedStatement.write(Tenant(self.tenant_id), sql, rows=given, most=most)

    def without_run(self, rows: Sequence[Mapping[str, Scalar]]) -> ScopedStatement:
        """Read the places of the rows whose run the tenant, or their agent, does not have."""
        named: list[Json] = [{column: row.get(column) for column in ("run_id", "agent_id")} for row in rows]
        return ScopedStatement.read(Tenant(self.tenant_id), _WITHOUT_RUN, rows=named)

    def _possible(self, line: str) -> str:
        return _OF_RUN.format(line=line) if self.tier.of_run else "TRUE"


def _named(columns: Sequence[str]) -> str:
    return ", ".join(f"held.{column}" for column in columns)


def _listed(key: Sequence[Scalar] | None) -> Json:
    return None if key is None else list(key)
