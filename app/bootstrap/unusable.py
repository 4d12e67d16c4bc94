"""Stands in for the database of a shard that cannot be opened."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import ShardUnavailable
from app.ports.database import Row, Statement


@dataclass(frozen=True, slots=True)
class UnusableDatabase:
    """Refuses every run, and says which shard cannot be used and why: work over all shards goes on with the others.

    Implements ``app.ports.database.Database``.
    """

    shard: str
    reason: str
    backend: str = "unusable"
    history_days: int = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:  # noqa: ARG002 - as the port asks
        """Refuse the statements.

        Raises:
            ShardUnavailable: always.
        """
        raise ShardUnavailable(f"The shard {self.shard} cannot be used: {self.reason}")

    async def ping(self) -> None:
        """Refuse, as ``run`` does."""
        await self.run([])

    async def purge_log(self) -> bool:
        """Refuse, as ``run`` does."""
        await self.run([])
        return False
