"""Rows of any declared table in bulk: pages of a tenant's rows for an export, and batches of an import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.json_types import Json, Scalar
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import RowLimit, TierTable

PAGE_ROWS = 500
PAGE_BYTES = 1_000_000

# The inner queries read keys and sizes alone, so that rows that do not fit into the page are not carried along.
_PAGE = """
SELECT {columns}, page.found
FROM (
  SELECT {key}, count(*) OVER () AS found,
    sum(bytes) OVER (ORDER BY {key} ROWS UNBOUNDED PRECEDING) - bytes AS before
  FROM (
    SELECT {held_key}, {bytes} AS bytes FROM {table} AS held
    WHERE held.tenant_id = ?1 ->> 'tenant_id' AND {where} {after} {agent}
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
# The lines of a batch that have their parents, each with whether its key is taken, and with the sum of what the new
# lines up to it count: the first new lines are written, as many as there is room for. A row that is there already takes
# no room.
_WEIGHED = """(
  SELECT given.value AS value{counts} FROM (
    SELECT line.key AS place, line.value AS value{free} FROM json_each(?1, '$.rows') AS line WHERE {possible}
  ) AS given
)"""
_IS_THERE = "EXISTS (SELECT 1 FROM {table} AS held WHERE held.tenant_id = ?1 ->> 'tenant_id' AND {same})"
_HAS_PARENT = "EXISTS (SELECT 1 FROM {table} AS parent WHERE parent.tenant_id = ?1 ->> 'tenant_id' AND {same})"
_ORPHANS = "SELECT line.key AS place FROM json_each(?1, '$.rows') AS line WHERE NOT {parent}"


@dataclass(frozen=True, slots=True)
class TierRows:
    """Statements over the rows of one table of one tenant or, with ``agent_id``, of one of its agents."""

    tenant_id: str
    tier: TierTable
    agent_id: str | None = None

    def page(self, after: Sequence[Scalar] | None, *, where: str | None = None, **values: Json) -> ScopedStatement:
        """Read the rows that follow the key ``after``, by their keys; ``found`` tells how many were looked at.

        ``where`` is a condition on ``held`` that reads ``values``; None: the row has not expired.
        """
        key, columns = self.tier.key, self.tier.columns
        read_as = {column: f"{expression} AS {column}" for column, expression in self.tier.read_as}
        living = f"held.expires_at > {NOW}" if self.tier.expires else "TRUE"
        place = ", ".join(f"?1 ->> '$.after[{number}]'" for number in range(len(key)))
        sql = _PAGE.format(
            columns=", ".join(read_as.get(column, f"held.{column}") for column in columns),
            key=", ".join(key),
            held_key=_named(key),
            bytes=" + ".join(
                f"coalesce(length(CAST(held.{column} AS BLOB)), 0)" for column in columns if column not in read_as
            ),
            table=self.tier.table,
            after="" if after is None else f"AND ({_named(key)}) > ({place})",
            agent="" if self.agent_id is None else "AND held.agent_id = ?1 ->> 'agent_id'",
            where=living if where is None else where,
            same_key=" AND ".join(f"held.{column} = page.{column}" for column in key),
            page_rows=PAGE_ROWS,
            page_bytes=PAGE_BYTES,
        )
        return ScopedStatement.read(Tenant(self.tenant_id), sql, agent_id=self.agent_id, after=_listed(after), **values)

    def known(self, rows: Sequence[Mapping[str, Scalar]]) -> ScopedStatement:
        """Read the tenant's rows that have the keys of these rows."""
        sql = _KNOWN.format(
            columns=_named(self.tier.columns),
            table=self.tier.table,
            wanted_key=" AND ".join(
                f"held.{column} = wanted.value ->> {number}" for number, column in enumerate(self.tier.key)
            ),
        )
        keys: list[Json] = [[row[column] for column in self.tier.key] for row in rows]
        return ScopedStatement.read(Tenant(self.tenant_id), sql, keys=keys)

    def insert(self, rows: Sequence[Mapping[str, Scalar]], most: Sequence[int]) -> ScopedStatement:
        """Write rows, but for those whose key is taken or whose parent is missing. A column not given is NULL.

        A row with which a limit of the table would be passed is left out too; ``most`` has a number for each limit.
        """
        columns, numbered = self.tier.columns, list(enumerate(self.tier.limits))
        lines = _WEIGHED.format(
            counts="".join(f", given.free_{n} AS free_{n}, {_more(limit, n)} AS more_{n}" for n, limit in numbered),
            free="".join(f", {self._free(limit)} AS free_{n}" for n, limit in numbered),
            possible=self._has_parent(),
        )
        sql = _INSERT.format(
            table=self.tier.table,
            names=", ".join(columns),
            values=", ".join(f"line.value ->> '$.{column}'" for column in columns),
            lines=lines,
            admitted=" AND ".join(self._admits(limit, n) for n, limit in numbered) or "TRUE",
        )
        given: list[Json] = [dict(row) for row in rows]
        return ScopedStatement.write(Tenant(self.tenant_id), sql, rows=given, most=list(most))

    def orphans(self, rows: Sequence[Mapping[str, Scalar]]) -> ScopedStatement:
        """Read the places of the rows whose parents the tenant does not have."""
        columns = [] if self.tier.parent is None else [column for _, column in self.tier.parent.columns]
        named: list[Json] = [{column: row.get(column) for column in columns} for row in rows]
        return ScopedStatement.read(Tenant(self.tenant_id), _ORPHANS.format(parent=self._has_parent()), rows=named)

    def _has_parent(self) -> str:
        parent = self.tier.parent
        if parent is None:
            return "TRUE"
        same = (f"parent.{theirs} = line.value ->> '$.{own}'" for theirs, own in parent.columns)
        return _HAS_PARENT.format(table=parent.table, same=" AND ".join(same))

    def _free(self, limit: RowLimit) -> str:
        """Return the condition that a line takes no room of a limit: its row or unit exists, or the line is exempt."""
        same = _same(self.tier.key if limit.unit is None else (limit.unit,))
        exempt = f"line.value ->> '$.{limit.exempt[0]}' = '{limit.exempt[1]}' OR " if limit.exempt else ""
        return f"({exempt}{_IS_THERE.format(table=self.tier.table, same=same)})"

    def _admits(self, limit: RowLimit, number: int) -> str:
        """Return the condition that a line takes no room of a limit, or that there is room for it."""
        return f"(line.free_{number} OR {self._used(limit)} + line.more_{number} <= ?1 ->> '$.most[{number}]')"

    def _used(self, limit: RowLimit) -> str:
        """Return the expression of how much of a limit is used by the tenant, or by the owner that the limit names."""
        if limit.used is not None:
            return limit.used
        counted = f"sum(held.{limit.amount})" if limit.amount else f"count({_distinct(limit)})"
        conditions = ["held.tenant_id = ?1 ->> 'tenant_id'", *([_same(limit.of)] if limit.of else [])]
        if limit.exempt is not None:
            conditions.append(f"held.{limit.exempt[0]} <> '{limit.exempt[1]}'")
        return f"(SELECT coalesce({counted}, 0) FROM {self.tier.table} AS held WHERE {' AND '.join(conditions)})"


def _more(limit: RowLimit, number: int) -> str:
    """Return the expression of what the new lines up to a line count together."""
    same = ", ".join([f"given.free_{number}", *(f"given.value ->> '$.{column}'" for column in limit.of)])
    if limit.unit is not None:
        return f"dense_rank() OVER (PARTITION BY {same} ORDER BY given.value ->> '$.{limit.unit}')"
    amount = f"given.value ->> '$.{limit.amount}'" if limit.amount else "1"
    return f"sum({amount}) OVER (PARTITION BY {same} ORDER BY given.place ROWS UNBOUNDED PRECEDING)"


def _distinct(limit: RowLimit) -> str:
    return "*" if limit.unit is None else f"DISTINCT held.{limit.unit}"


def _same(columns: Sequence[str]) -> str:
    """Return the condition that a line of the batch has the same values in these columns as the row ``held``."""
    return " AND ".join(f"held.{column} = line.value ->> '$.{column}'" for column in columns)


def _named(columns: Sequence[str]) -> str:
    return ", ".join(f"held.{column}" for column in columns)


def _listed(key: Sequence[Scalar] | None) -> Json:
    return None if key is None else list(key)
