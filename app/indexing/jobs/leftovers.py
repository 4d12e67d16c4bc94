"""Deletes the rows that a move has left where a tenant does not live, and the triggers that noted its changes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.indexing.jobs.carry import PAGE_ROWS
from app.indexing.jobs.noting import stop_noting
from app.ports.database import Database
from app.storage.system import carried
from app.storage.system.carried import CarriedTable, Values
from app.storage.system.moving import Mover

_EVERY_CHANGE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The rows of one tenant that are left after a move. Every step may be done again."""

    mover: Mover
    directory: Database
    source: Database
    target: Database
    tables: Sequence[CarriedTable]
    renew: Callable[[], Awaitable[None]]
    """Renews the lease of the move; raises ``Conflict`` where another process has it."""

    async def drop(self, linger_seconds: float) -> None:
        """Delete the tenant's rows in the source after ``linger_seconds``, their vectors by its outbox, and the move.

        Raises:
            Conflict: another process has taken the move over.
            Unavailable: a service does not answer; the call may be repeated.
        """
        await self.source.run([self.mover.take_over()])
        await asyncio.sleep(linger_seconds)
        await self._late_notes(next(table for table in self.tables if table.name == carried.NOTES))
        await self.drop_rows(self.source, "gone")
        forget = [self.mover.forget(_EVERY_CHANGE), self.mover.forget_numbers()]
        await self.source.run([self.mover.carry("gone"), *forget])
        await self.target.run([self.mover.forget_numbers()])
        await self.stop_noting()
        await self.directory.run([self.mover.end()])

    async def drop_rows(self, database: Database, state: str) -> None:
        """Delete a tenant's rows in a database where it does not live, by pages, while it is in this state there."""
        mover = self.mover
        memories = next(table for table in self.tables if table.name == carried.MEMORIES)
        while (rows := (await database.run([mover.memories(PAGE_ROWS)]))[0]) != []:
            ids = [str(row["id"]) for row in rows]
            delete = memories.delete(mover.tenant_id, [(id_,) for id_ in ids])
            await database.run([mover.carry(state), carried.queue_removals(mover.tenant_id, ids), *delete])
            await self.renew()
        for table in self.tables:
            while (await database.run([mover.carry(state), table.drop(mover.tenant_id, PAGE_ROWS)]))[1]:
                await self.renew()

    async def stop_noting(self) -> None:
        """Remove the triggers that note changes, unless another tenant is leaving the source."""
        await stop_noting(self.source, self.tables)

    async def _late_notes(self, table: CarriedTable) -> None:
        """Close the source to notes of recalls, and carry those that were written there after the tenant had gone."""
        await self.source.run([self.mover.carry("gone"), self.mover.close()])
        after: Values | None = None
        while True:
            (rows,) = await self.source.run([table.page(self.mover.tenant_id, after, PAGE_ROWS)])
            notes = [table.read(row) for row in rows]
            if notes:
                await self.target.run([self.mover.late_notes(notes, table.columns)])
            if len(notes) < PAGE_ROWS:
                return
            after = table.place_of(notes[-1])
