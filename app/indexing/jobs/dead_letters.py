"""Shows rows of the outbox to operators, and retries or drops dead letters. Crosses tenants."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import Database, Statement
from app.storage.rows import read_rows
from app.storage.system import dead_letters
from app.storage.system.dead_letters import OutboxRow


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The rows that the index refused for good, and the other rows of the outbox to look at."""

    database: Database

    async def list(self, *, only_dead: bool, limit: int) -> Sequence[OutboxRow]:
        """Return rows, dead letters first, then the oldest first."""
        (rows,) = await self.database.run([dead_letters.list_rows(only_dead=only_dead, limit=limit)])
        return read_rows(OutboxRow, rows)

    async def retry(self, ids: Sequence[str]) -> Sequence[str]:
        """Queue dead letters again, all of them where no id is given; return their ids."""
        return await self._change(dead_letters.retry(ids))

    async def drop(self, ids: Sequence[str]) -> Sequence[str]:
        """Delete dead letters from the outbox, with an audit row for each; return their ids.

        Their memories stay in the database, but the vector channel does not find these until ``reconcile`` repairs the
        index.
        """
        return await self._change(dead_letters.drop(ids))

    async def _change(self, statements: Sequence[Statement]) -> Sequence[str]:
        *_, changed = await self.database.run(statements)
        return [str(row["id"]) for row in changed]
