"""Statements of one tenant, and the database as one tenant's requests see it (docs/architecture.md, Isolation).

A request can make no other statement: each takes its tenant, and where it concerns one agent its agent, from a scope.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Self

from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import Database, Row, Statement


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
    """Runs statements of one tenant, and refuses those of another."""

    def __init__(
        self, tenant_id: str, database: Database, turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    ) -> None:
        """Bind the tenant; ``turn`` is held for each run that only reads."""
        self._tenant_id = tenant_id
        self._database = database
        self._turn = turn

    @property
    def history_days(self) -> int:
        """For how many days the database can be restored to what it was; 0: it cannot."""
        return self._database.history_days

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements in order as one transaction and return each one's rows; raises as ``Database.run`` does.

        Raises:
            ValueError: a statement is of another tenant. This is a defect; nothing was run.
        """
        if any(statement.tenant_id != self._tenant_id for statement in statements):
            raise ValueError("A statement of another tenant was given to this tenant's database.")
        if any(statement.writes for statement in statements):
            return await self._database.run(statements)
        async with self._turn():
            return await self._database.run(statements)
