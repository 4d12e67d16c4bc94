"""A database that joins concurrent runs into one run of the database below."""

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence

from app.adapters.coalescing.gatherer import FREE, Gatherer, Metering, Size, of_one_part
from app.domain.errors import DatabaseRejected
from app.ports.database import Database, Row, Statement

MOST = Size(items=100, bytes=1_500_000)
"""The size of a call: as many statements as D1 takes, and few enough bytes that its one thread is not busy for long."""
ENOUGH = Size(items=50, bytes=750_000)
"""The size of what waits from which on a call begins beside others: half of a call."""
_APART_SECONDS = 10.0
_Statements = Sequence[Statement]
_Reads = Sequence[tuple[Hashable, Statement]]
"""The statements of a run that only reads, each with the key that equal statements have."""
_Rows = list[list[Row]]


class CoalescingDatabase:
    """Joins concurrent runs into one batch, reads apart from writes. Implements ``Database``.

    A batch makes each read once: runs with equal statements, which are of one tenant, have the same rows of it.
    A batch is one transaction. If a statement in it is refused, each run is made once more, alone; so a run is put into
    a batch only if it may be made again. A tenant whose statement was refused runs alone for a while, so that
    it cannot undo the batches of others again and again. A run that asks an index within its call goes alone too.
    """

    def __init__(
        self, below: Database, metering: Metering = FREE, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wrap a database; ``metering`` is charged for each run of it."""
        self._below = below
        self._metering = metering
        self._clock = clock
        self._reads: Gatherer[_Reads, _Rows] = Gatherer(
            self._read_all,
            parts=_parts,
            most=MOST,
            enough=ENOUGH,
            refused=(DatabaseRejected,),
            linger=metering.linger,
        )
        self._writes: Gatherer[_Statements, _Rows] = Gatherer(
            self._run_all,
            parts=of_one_part(_size),
            most=MOST,
            enough=ENOUGH,
            refused=(DatabaseRejected,),
            linger=metering.linger,
        )
        self._apart: dict[str, float] = {}
        """For each tenant, the time until which its writes go alone."""

    @property
    def backend(self) -> str:
        """Return the name of the database below."""
        return self._below.backend

    @property
    def history_days(self) -> int:
        """Return for how many days the database below can be restored."""
        return self._below.history_days

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements in order as a part of one transaction; raises as ``Database.run`` does."""
        if not statements:
            return []
        tenant_id = statements[0].tenant_id
        if any(statement.awaits for statement in statements):  # its index may refuse the run, and so the others too
            return await self._run(statements)
        if not any(statement.writes for statement in statements):
            return await self._reads.ask([(_key(statement), statement) for statement in statements], tenant_id)
        if self._goes_alone(tenant_id) or not all(each.repeatable for each in statements if each.writes):
            return await self._run(statements)
        try:
            return await self._writes.ask(statements, tenant_id)
        except DatabaseRejected:
            self._set_apart(tenant_id)
            raise

    async def ping(self) -> None:
        """Return if the database below answers; raise as ``run`` does if not."""
        await self._below.ping()

    async def purge_log(self) -> bool:
        """Remove deleted data from the log of the database below; return whether it was removed."""
        return await self._below.purge_log()

    def _goes_alone(self, tenant_id: str) -> bool:
        return self._apart.get(tenant_id, -math.inf) > self._clock()

    def _set_apart(self, tenant_id: str) -> None:
        """Let a tenant's writes go alone for a while, and forget the tenants whose time is over."""
        now = self._clock()
        self._apart = {each: until for each, until in self._apart.items() if until > now}
        self._apart[tenant_id] = now + _APART_SECONDS

    async def _run(self, statements: _Statements) -> _Rows:
        self._metering.charge({statement.tenant_id for statement in statements} - {""})
        return await self._below.run(statements)

    async def _run_all(self, runs: Sequence[_Statements]) -> list[_Rows]:
        rows = iter(await self._run([statement for statements in runs for statement in statements]))
        return [[next(rows) for _ in statements] for statements in runs]

    async def _read_all(self, runs: Sequence[_Reads]) -> list[_Rows]:
        different = {key: statement for reads in runs for key, statement in reads}
        rows = dict(zip(different, await self._run(list(different.values())), strict=True))
        return [[rows[key] for key, _ in reads] for reads in runs]


def _key(statement: Statement) -> Hashable:
    return (statement.tenant_id, statement.sql, *statement.parameters)


def _parts(reads: _Reads) -> Mapping[Hashable, Size]:
    return {key: _size([statement]) for key, statement in reads}


def _size(statements: _Statements) -> Size:
    told = sum(len(text.encode()) for statement in statements for text in (statement.sql, *statement.parameters))
    return Size(len(statements), told)
