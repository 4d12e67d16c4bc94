"""Tables whose rows a move carries from one database to another, as their schema says, and statements on such rows.

Each statement is about one tenant, and crosses the borders of agents; no request imports them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.json_types import Json, Scalar
from app.ports.database import NOW, Row, Statement
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN

NOT_CARRIED: Mapping[str, str] = {
    "outbox": "the target's own says what its index has still to be told",
    "tenant_places": "it is the directory",
    "tenant_moves": "it is the directory",
    "tenant_epochs": "it says how the tenant lives in this database",
    "tenant_changes": "it says what a move has still to carry",
    "tenant_renumbered": "it says which numbers a move has given",
}
"""Tables with rows of tenants that a move does not carry, each with the reason."""
_OF_INDEX = "local_"
"""The embedded index has tables in the same file: their names begin with this. The target's index fills its own."""
COUNTERS = ("usage", "episodic_count", "idempotency_count")
"""Tables that triggers write when rows of other tables are carried: they come last, and are compared as a whole."""
MEMORIES = "long_term_memory"
NOTES = "recall_log"
_NUMBERED: Mapping[str, str] = {"audit": "number"}
"""Tables whose key is a number of the database's own: a row gets another number in the target."""
_ORDERED: Mapping[str, str] = {"revocation": "revoked_at"}
"""Columns that order all rows of a database: a carried row comes last in the target, so that processes read it."""
_WALKED: Mapping[str, tuple[str, ...]] = {
    "audit": ("created_at", "number"),
    "ingestion": ("agent_id", "id"),
    MEMORIES: ("created_at", "id"),
}
"""The columns that order the pages of tables whose key does not begin with the tenant: those of an index that does.

In the order of the key, each page would read all rows of the tenant.
"""

READ_SCHEMA = Statement.read("""
SELECT made.name AS table_name, col.name AS column_name, col.type AS type, col.pk AS place
FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS col
WHERE made.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(made.name) AS own WHERE own.name = 'tenant_id')
ORDER BY made.name, col.cid
""")

Values = tuple[Scalar, ...]
"""The values of a row in the order of its table's columns, or the values of its key."""


@dataclass(frozen=True, slots=True)
class CarriedTable:
    """A table whose rows are carried.

    Attributes:
        name: The table.
        columns: Its columns, without ``tenant_id``.
        types: The type of each column.
        key: The columns of its primary key, without ``tenant_id``, in the key's order.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def renumbers(self) -> bool:
        """Whether its rows get other numbers in the target."""
        return self.name in _NUMBERED

    def read(self, row: Row) -> Values:
        """Read the row of a database; D1 answers numbers as JSON does."""
        return tuple(_value(row[column], type_) for column, type_ in zip(self.columns, self.types, strict=True))

    @property
    def walk(self) -> tuple[str, ...]:
        """The columns that order its pages; together they identify a row."""
        return _WALKED.get(self.name, self.key)

    def key_of(self, values: Values) -> Values:
        """Return the key of a row."""
        return self._part(values, self.key)

    def place_of(self, values: Values) -> Values:
        """Return the values that place a row in the order of pages."""
        return self._part(values, self.walk)

    def read_key(self, text: str) -> Values:
        """Read the key of a row that was noted as JSON."""
        found = json.loads(text)
        types = [self.types[self.columns.index(column)] for column in self.key]
        return tuple(_value(value, type_) for value, type_ in zip(found, types, strict=True))

    def compared(self, values: Values) -> Values:
        """Return the values of a row that are the same in both databases."""
        return tuple(
            value for column, value in zip(self.columns, values, strict=True) if column != _ORDERED.get(self.name)
        )

    def page(self, tenant_id: str, after: Values | None, most: int) -> Statement:
        """Read the next rows behind a place, in the order of ``walk``."""
        walk, place = ", ".join(self.walk), ", ".join(f"?1 -> 'after' ->> {at}" for at in range(len(self.walk)))
        behind = "" if after is None or not walk else f"AND ({walk}) > ({place})"
        order = f"ORDER BY {walk}" if walk else ""
        sql = (
            f"SELECT {', '.join(self.columns)} FROM {self.name} "
            f"WHERE tenant_id = ?1 ->> 'tenant_id' {behind} {order} LIMIT ?1 ->> 'most'"
        )
        return Statement.read(sql, tenant_id=tenant_id, after=list(after or ()), most=most)

    def of_keys(self, tenant_id: str, keys: Sequence[Values], *, renumbered: bool = False) -> Statement:
        """Read the rows of these keys; ``renumbered``: in the database to which the rows were carried."""
        columns = ", ".join(f"held.{column}" for column in self.columns)
        is_wanted = "".join(f" AND held.{column} = wanted.value ->> {at}" for at, column in enumerate(self.key))
        sql = (
            f"SELECT {columns} FROM json_each(?1, '$.keys') AS wanted CROSS JOIN {self._rows(renumbered)} AS held "
            f"WHERE held.tenant_id = ?1 ->> 'tenant_id'{is_wanted}"
        )
        return Statement.read(sql, tenant_id=tenant_id, keys=_lists(keys))

    def count(self) -> str:
        """Return the expression that counts the tenant's rows."""
        return f"(SELECT count(*) FROM {self.name} WHERE tenant_id = ?1 ->> 'tenant_id')"

    def delete(self, tenant_id: str, keys: Sequence[Values], *, renumbered: bool = False) -> list[Statement]:
        """Delete the rows of these keys."""
        if renumbered and self.renumbers:
            return self._delete_renumbered(tenant_id, keys)
        wanted = ", ".join(("?1 ->> 'tenant_id'", *(f"value ->> {at}" for at in range(len(self.key)))))
        # With a condition of its own for the tenant, SQLite would use another index, and read all the tenant's rows.
        sql = (
            f"DELETE FROM {self.name} WHERE ({', '.join(('tenant_id', *self.key))}) "
            f"IN (SELECT {wanted} FROM json_each(?1, '$.keys'))"
        )
        return [Statement.write(sql, tenant_id=tenant_id, keys=_lists(keys))]

    def insert(self, tenant_id: str, rows: Sequence[Values]) -> list[Statement]:
        """Insert rows whose keys the database does not have."""
        if self.renumbers:
            return self._insert_renumbered(tenant_id, rows)
        ordered = _ORDERED.get(self.name)
        last = f"(SELECT coalesce(max({ordered}), 0) FROM {self.name})"
        values = ", ".join(
            f"max({NOW}, {last}) + 1 + key" if column == ordered else f"value ->> {at}"
            for at, column in enumerate(self.columns)
        )
        sql = (
            f"INSERT INTO {self.name} (tenant_id, {', '.join(self.columns)}) "
            f"SELECT ?1 ->> 'tenant_id', {values} FROM json_each(?1, '$.rows')"
        )
        return [Statement.write(sql, tenant_id=tenant_id, rows=_lists(rows))]

    def drop(self, tenant_id: str, most: int) -> Statement:
        """Delete some of the tenant's rows, and return a row for each."""
        columns = ", ".join(("tenant_id", *self.key))
        sql = (
            f"DELETE FROM {self.name} WHERE ({columns}) IN (SELECT {columns} FROM {self.name} "
            "WHERE tenant_id = ?1 ->> 'tenant_id' LIMIT ?1 ->> 'most') RETURNING 1 AS dropped"
        )
        return Statement.write(sql, tenant_id=tenant_id, most=most)

    def _part(self, values: Values, columns: Sequence[str]) -> Values:
        return tuple(values[self.columns.index(column)] for column in columns)

    def _rows(self, renumbered: bool) -> str:  # noqa: FBT001 - private
        if not (renumbered and self.renumbers):
            return self.name
        number = _NUMBERED[self.name]
        columns = ", ".join(
            f"given.source_number AS {number}" if column == number else f"made.{column}" for column in self.columns
        )
        return (
            f"(SELECT given.tenant_id, {columns} FROM tenant_renumbered AS given "
            f"JOIN {self.name} AS made ON made.{number} = given.number AND made.tenant_id = given.tenant_id "
            f"WHERE given.table_name = '{self.name}')"
        )

    def _delete_renumbered(self, tenant_id: str, keys: Sequence[Values]) -> list[Statement]:
        given = (
            f"FROM tenant_renumbered WHERE tenant_id = ?1 ->> 'tenant_id' AND table_name = '{self.name}' "
            "AND source_number IN (SELECT value ->> 0 FROM json_each(?1, '$.keys'))"
        )
        number = _NUMBERED[self.name]
        rows = f"DELETE FROM {self.name} WHERE (tenant_id, {number}) IN (SELECT tenant_id, number {given})"
        return [Statement.write(sql, tenant_id=tenant_id, keys=_lists(keys)) for sql in (rows, f"DELETE {given}")]

    def _insert_renumbered(self, tenant_id: str, rows: Sequence[Values]) -> list[Statement]:
        number = _NUMBERED[self.name]
        place = self.columns.index(number)
        give = (
            "INSERT INTO tenant_renumbered (tenant_id, table_name, source_number, number) "
            f"SELECT ?1 ->> 'tenant_id', '{self.name}', value ->> {place}, "
            f"(SELECT coalesce(max({number}), 0) FROM {self.name}) + 1 + key FROM json_each(?1, '$.rows')"
        )
        values = ", ".join(
            "given.number" if column == number else f"value ->> {at}" for at, column in enumerate(self.columns)
        )
        put = (
            f"INSERT INTO {self.name} (tenant_id, {', '.join(self.columns)}) SELECT ?1 ->> 'tenant_id', {values} "
            "FROM json_each(?1, '$.rows') JOIN tenant_renumbered AS given ON given.tenant_id = ?1 ->> 'tenant_id' "
            f"AND given.table_name = '{self.name}' AND given.source_number = value ->> {place}"
        )
        return [Statement.write(sql, tenant_id=tenant_id, rows=_lists(rows)) for sql in (give, put)]


def read_tables(rows: Sequence[Row]) -> list[CarriedTable]:
    """Read the rows of ``READ_SCHEMA``: every table that is carried, the tables of counts last."""
    columns: dict[str, list[tuple[str, str, int]]] = {}
    for row in rows:
        name, column = str(row["table_name"]), str(row["column_name"])
        if name not in NOT_CARRIED and not name.startswith(_OF_INDEX) and column != "tenant_id":
            columns.setdefault(name, []).append((column, str(row["type"]), int(row["place"] or 0)))
    tables = [
        CarriedTable(
            name,
            tuple(column for column, _, _ in found),
            tuple(type_ for _, type_, _ in found),
            tuple(column for column, _, _ in sorted(found, key=lambda each: each[2]) if _place(found, column)),
        )
        for name, found in columns.items()
    ]
    return sorted(tables, key=lambda table: (table.name in COUNTERS, table.name))


def count_rows(tenant_id: str, tables: Sequence[CarriedTable]) -> Statement:
    """Count the tenant's rows of each table, by its name."""
    counts = ", ".join(f"{table.count()} AS {table.name}" for table in tables)
    return Statement.read(f"SELECT {counts}", tenant_id=tenant_id)


def queue_vectors(tenant_id: str, index_name: str, vectors: Sequence[Mapping[str, Json]]) -> Statement:
    """Queue vectors for the index, each with its ``agent_id``, its ``id`` and its ``vector``."""
    sql = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)
SELECT ?1 ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', ?1 ->> 'index_name', 'upsert', {NOW},
  value ->> 'vector', {NOW} FROM json_each(?1, '$.vectors') WHERE TRUE
{QUEUED_AGAIN}
"""
    return Statement.write(sql, tenant_id=tenant_id, index_name=index_name, vectors=list(vectors))


def queue_removals(tenant_id: str, ids: Sequence[str]) -> Statement:
    """Queue the removal of memories' vectors, before the memories are deleted."""
    sql = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE (memory.tenant_id, memory.id) IN (SELECT ?1 ->> 'tenant_id', value FROM json_each(?1, '$.ids'))
{QUEUED_AGAIN}
"""
    return Statement.write(sql, tenant_id=tenant_id, ids=list(ids))


def queued_vectors(tenant_id: str, index_name: str, memories: Sequence[tuple[str, str]]) -> Statement:
    """Read the vectors of memories that wait for the index; each memory is named by its agent and its id."""
    sql = """
SELECT outbox.id, outbox.vector FROM json_each(?1, '$.memories') AS memory CROSS JOIN outbox
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = memory.value ->> 0 AND outbox.id = memory.value ->> 1
  AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
"""
    return Statement.read(
        sql, tenant_id=tenant_id, index_name=index_name, memories=[list(memory) for memory in memories]
    )


def _place(found: Sequence[tuple[str, str, int]], column: str) -> int:
    return next(place for name, _, place in found if name == column)


def _value(value: Scalar, type_: str) -> Scalar:
    if value is None or type_ not in {"INTEGER", "REAL"}:
        return value
    return int(value) if type_ == "INTEGER" else float(value)


def _lists(rows: Sequence[Values]) -> list[Json]:
    return [list(row) for row in rows]
