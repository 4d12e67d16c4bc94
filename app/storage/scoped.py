"""Statements of one tenant, and the database as one tenant's requests see it (docs/architecture.md, Isolation).

A request can make no other statement. Each statement takes its tenant from a scope, and its agent if it is about one.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Self, TypeAlias

from app.domain.errors import DatabaseRejected, SchemaTooNew, TenantMoved
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import Database, Row, RunRefused, Statement
from app.storage import presence
from app.storage.presence import Presence

Explain: TypeAlias = Callable[[DatabaseRejected], Awaitable[DatabaseRejected | SchemaTooNew]]
"""Returns the error to raise for a refusal: that a newer version has migrated the database, or the refusal itself."""


@dataclass(frozen=True, slots=True)
class ScopedStatement(Statement):
    """A statement that touches the rows of one tenant only.

    Its argument has ``tenant_id``, and ``agent_id`` where it was made for one agent; SQL compares both with the columns
    of every table of tenants that it names.
    """

    @classmethod
    def read(cls, scope: Scope | Tenant, sql: str, /, **values: Json) -> Self:  # type: ignore[override]
        """Make a statement that only reads."""
        return cls(sql, scope.argument | values, tenant_id=scope.tenant_id)

    @classmethod
    def write(cls, scope: Scope | Tenant, sql: str, /, *, repeatable: bool = True, **values: Json) -> Self:  # type: ignore[override]
        """Make a statement that may change data."""
        argument = scope.argument | values
        return cls(sql, argument, writes=True, repeatable=repeatable, tenant_id=scope.tenant_id)


class TenantDatabase:
    """Runs statements of one tenant and refuses those of another; where there are shards, the tenant must live here."""

    def __init__(
        self,
        tenant_id: str,
        database: Database,
        turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        presence: Presence | None = None,
        explain: Explain | None = None,
        leading: Sequence[ScopedStatement] = (),
    ) -> None:
        """Bind the tenant; ``turn`` is held for each run that only reads, ``presence`` is what runs check.

        ``explain`` is called with each refusal of a statement by the database.
        Each run that writes begins with ``leading``, whose rows are not returned.
        """
        self._tenant_id = tenant_id
        self._database = database
        self._turn = turn
        self._presence = presence or Presence()
        self._explain = explain
        self._leading = leading
        self._written = False

    @property
    def history_days(self) -> int:
        """For how many days back the database can be restored; 0: it cannot be."""
        return self._database.history_days

    def beginning_with(self, statement: ScopedStatement) -> "TenantDatabase":
        """Return this database with a statement that leads each run that writes: the run is refused where it is."""
        leading = [*self._leading, statement]
        return TenantDatabase(self._tenant_id, self._database, self._turn, self._presence, self._explain, leading)

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements in order as one transaction and return each one's rows; raises as ``Database.run`` does.

        Raises:
            ValueError: a statement is of another tenant. This is a defect; nothing was run.
            TenantMoved: the tenant does not live here, or is just leaving; nothing was read or written.
            SchemaTooNew: a statement was refused, and a newer version has migrated the database.
        """
        if any(statement.tenant_id != self._tenant_id for statement in statements):
            raise ValueError("A statement of another tenant was given to this tenant's database.")
        try:
            if any(statement.writes for statement in statements):
                return await self._write(statements)
            async with self._turn():
                return await (self._read_here if self._presence.checked else self._database.run)(statements)
        except RunRefused:
            raise
        except DatabaseRejected as refusal:
            if self._explain is None:
                raise
            raise await self._explain(refusal) from refusal

    async def _write(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        run = [*self._leading, *statements]
        rows = await (self._write_here if self._presence.checked else self._database.run)(run)
        self._written = True
        return rows[len(self._leading) :]

    async def _write_here(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        epoch = self._presence.epoch_of(self._tenant_id)
        enter = ScopedStatement.write(Tenant(self._tenant_id), presence.ENTER, epoch=epoch)
        try:
            _, *rows = await self._database.run([enter, *statements])
        except RunRefused as refusal:
            if refusal.reason == "moved":
                raise self._moved() from refusal
            if refusal.reason == "moving":
                raise TenantMoved("The tenant is just moving to another shard. Nothing was stored.") from refusal
            raise
        return rows

    async def _read_here(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        epoch = self._presence.epoch_of(self._tenant_id)
        read = ScopedStatement.read(Tenant(self._tenant_id), presence.READ)
        *rows, (row,) = await self._database.run([*statements, read])
        found = int(row["epoch"] or 0)
        if found < 0 or found != (found if epoch is None else epoch):
            raise self._moved()
        return rows

    def _moved(self) -> TenantMoved:
        self._presence.moved(self._tenant_id)
        return TenantMoved("The tenant has moved to another shard.", repeatable=not self._written)
