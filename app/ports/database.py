"""The source of truth: a database that speaks D1's dialect of SQLite."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, cast

from app.domain.errors import DatabaseRejected
from app.domain.json_types import Json, Scalar, to_json
from app.ports.vector_index import AwaitedHits

Row: TypeAlias = Mapping[str, Scalar]
"""One row of a result, by column name."""

Select: TypeAlias = Callable[[str, Sequence[str | int]], Any]
"""Runs a SELECT with its parameters on the snapshot of a run, and returns the JSON value that is its one result."""

NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
"""The database's clock in SQL, in milliseconds since the epoch: the one clock that all replicas share."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement and the one value it takes.

    Every value travels inside ``argument``, bound as JSON text to ``?1`` and read in SQL with
    ``json_extract(?1, '$.name')`` or ``json_each(?1)``: D1 documents its parameters as strings, at
    most 100 to a statement, and binds numbers as REAL (ADR 0001).

    Attributes:
        sql: One statement, without a trailing semicolon.
        argument: The value of ``?1``; None for a statement without a parameter.
        writes: Whether the statement may change data. A statement that writes without it is refused.
        repeatable: Whether a statement that writes has the same effect run twice as run once, so that an adapter may
            repeat a run whose outcome it does not know.
        tenant_id: The tenant of the statement: an adapter that computes on this machine lets tenants take turns. The
            service's own statements have none.
        awaits: Hits that stand in the argument and are not known yet; an adapter beside the index that gave them asks
            for the hits within the run, any other adapter runs the statement as it is.
        stepwise: Reads in steps, and returns the statement to run in place of the one it is given, which gives the same
            rows. An adapter whose database is in this process calls it, because a SELECT takes microseconds there; any
            other adapter runs the statement as it is.
    """

    sql: str
    argument: Mapping[str, Json] | Sequence[Json] | None = None
    writes: bool = False
    repeatable: bool = False
    tenant_id: str = ""
    awaits: AwaitedHits | None = None
    stepwise: "Stepwise | None" = field(default=None, compare=False)
    _text: str | None = field(default=None, init=False, repr=False, compare=False)
    """The argument as text, once it was asked for."""

    @classmethod
    def read(cls, sql: str, /, **values: Json) -> Self:
        """Make a statement that only reads."""
        return cls(sql, values or None)

    @classmethod
    def write(cls, sql: str, /, *, repeatable: bool = True, **values: Json) -> Self:
        """Make a statement that may change data."""
        return cls(sql, values or None, writes=True, repeatable=repeatable)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The bound parameters: one JSON text, or none."""
        if self.argument is None:
            return ()
        if self._text is None:
            object.__setattr__(self, "_text", to_json(self.argument))
        return (cast(str, self._text),)


Stepwise: TypeAlias = Callable[[Statement, Select], Statement]


class RunRefused(DatabaseRejected):
    """A trigger of the schema refused the run with ``RAISE(ABORT, reason)``; nothing was changed.

    A reason is a word of lower-case letters and underscores. Another text of a trigger is a ``DatabaseRejected``.
    """

    def __init__(self, reason: str) -> None:
        """Keep the trigger's reason."""
        super().__init__(f"A trigger of the schema refused the run: {reason}.")
        self.reason = reason


class WordsDamaged(DatabaseRejected):
    """The blocks of the index of words cannot be read; nothing was changed. All else in the database can be used."""


class Database(Protocol):
    """Runs statements, all or nothing.

    There are no interactive transactions, because D1 has none: statements that belong together go into one
    run. A read sees every run that was acknowledged before it began, whichever process made it.
    """

    @property
    def backend(self) -> str:
        """A short name for operators, such as ``sqlite``."""
        ...

    @property
    def history_days(self) -> int:
        """For how many days an operator can still restore deleted data."""
        ...

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements in order as one transaction and return each one's rows, in order.

        Raises:
            Unavailable: the database cannot be reached, read or written; nothing was changed, unless the error is
                ``UpstreamTimeout``, ``UpstreamUnavailable`` or ``UpstreamRejected``: then data may have changed.
            RunRefused: a trigger refused a statement with ``RAISE(ABORT, reason)``; nothing was changed.
            WordsDamaged: a statement asks the index of words, which is damaged; nothing was changed. A write of
                memories, whose triggers keep this index, does not raise it: the write is made without the index.
            DatabaseRejected: a statement is wrong or breaks a constraint; nothing was changed.
        """
        ...

    async def ping(self) -> None:
        """Return if the database answers; raise as ``run`` does if not."""
        ...

    async def purge_log(self) -> bool:
        """Remove deleted data from the files that the database keeps beside its data for its own use.

        Returns whether the data was removed: False where the files are in use, and a later call may succeed.

        Raises:
            Unavailable: the database does not answer.
        """
        ...
