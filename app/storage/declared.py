"""SQL that follows from a declaration: the columns that a row is read from, inserts of rows, and pages of listings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Generic, TypeVar

from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import Row
from app.storage.listing import ListPosition
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement

_T = TypeVar("_T")


def names_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a dataclass's fields: the columns of a table that has a row for each object."""
    return tuple(field_.name for field_ in fields(kind) if field_.init)


def columns_of(kind: type[Any], row: str, **made: str) -> str:
    """Return the columns that a statement selects for ``read_rows(kind, ...)``.

    A field is read from the column of its name in the table that the statement calls ``row``, or from the expression
    that is ``made`` for it; "" leaves the field to its default.
    """
    return ", ".join(
        f"{made[name]} AS {name}" if name in made else f"{row}.{name}"
        for name in names_of(kind)
        if made.get(name) != ""
    )


def insert(table: str, given: str, rest: str = "", **made: str) -> str:
    """Return the statement that inserts a row of the scope's tenant.

    Args:
        table: The table, or the view or table whose trigger does the work.
        given: The columns that get the statement's argument of their name, with spaces between them.
        rest: The clauses behind the selected values: FROM, WHERE, ON CONFLICT, RETURNING.
        made: The expressions of other columns.
    """
    values = {"tenant_id": "?1 ->> 'tenant_id'"} | {name: f"?1 ->> '{name}'" for name in given.split()} | made
    return f"INSERT INTO {table} ({', '.join(values)})\nSELECT {', '.join(values.values())}\n{rest}"


@dataclass(frozen=True, slots=True)
class ListPage(Generic[_T]):
    """A page of a listing, and where the next one begins; ``after`` is None where there are no more."""

    items: Sequence[_T]
    after: ListPosition | None


def list_page(kind: type[_T], rows: Sequence[Row], limit: int) -> ListPage[_T]:
    """Return the page of at most ``limit`` rows; the statement reads one row more, where there is one.

    Each row has its position: ``page_at``, in ms, and ``page_tie``.
    """
    items = read_rows(kind, rows[:limit])
    return ListPage(items, position_of(rows[limit - 1]) if len(rows) > limit else None)


def position_of(row: Row) -> ListPosition:
    """Return the position right behind a row that has ``page_at`` and ``page_tie``."""
    return ListPosition(int(row["page_at"] or 0), str(row["page_tie"]))


@dataclass(frozen=True, slots=True)
class PagedTable:
    """How the rows of a table are listed, newest first, for ``list_page``.

    Attributes:
        table: The table and what its expressions call it, such as ``agent_runs AS run``.
        columns: The columns that are selected of a row beside its position.
        at: The moment of a row, in ms.
        tie: The expression that orders the rows of one moment: a text that no two rows have.
        indexes: By the columns that a listing filters by, the index that has just these rows in this order. The first
            index whose columns are all filtered by is taken: left to choose, SQLite would walk the whole tenant for an
            agent or a writer with few rows. ``()`` stands for no columns.
        where: The conditions of those filters that do not compare the column of their name for equality.
        order: The columns of the order, where ``tie`` is made of them.
    """

    table: str
    columns: str
    at: str
    tie: str
    indexes: Mapping[tuple[str, ...], str]
    where: Mapping[str, str] = field(default_factory=dict)
    order: str = ""

    def select(self, asked: Sequence[str], *conditions: str, after: ListPosition | None = None) -> str:
        """Return the statement that reads ``limit`` rows with the values of these filters, which its argument has."""
        row = self.table.rpartition(" ")[2]
        index = next(index for columns, index in self.indexes.items() if set(columns).issubset(asked))
        equal = (self.where.get(name, f"{row}.{name} = ?1 ->> '{name}'") for name in asked)
        behind = [] if after is None else [f"({self.at}, {self.tie}) < (?1 ->> 'page_at', ?1 ->> 'page_tie')"]
        where = " AND ".join([f"{row}.tenant_id = ?1 ->> 'tenant_id'", *equal, *conditions, *behind])
        order = self.order or f"{self.at} DESC, {self.tie} DESC"
        return (
            f"SELECT {self.columns}, {self.at} AS page_at, {self.tie} AS page_tie FROM {self.table}"
            f" INDEXED BY {index} WHERE {where} ORDER BY {order} LIMIT ?1 ->> 'limit'"
        )

    def read(self, scope: Scope | Tenant, wanted: Any, *, limit: int, after: ListPosition | None) -> ScopedStatement:  # noqa: ANN401 - any dataclass
        """Read the next rows that match ``wanted``, a dataclass; a field that is None sets no condition."""
        values = {name: value for name, value in asdict(wanted).items() if value is not None}
        sql = self.select(list(values), after=after)
        return ScopedStatement.read(scope, sql, **values, **behind(after), limit=limit)


def behind(after: ListPosition | None) -> dict[str, Json]:
    """Return the values by which a statement goes on behind a position."""
    return {} if after is None else {"page_at": after.created_at, "page_tie": after.id}
