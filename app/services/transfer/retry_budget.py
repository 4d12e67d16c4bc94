"""Waits as an upstream service asks: a transfer is in no hurry, and its failure would cost the most calls."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from app.domain.errors import RateLimited, UpstreamOverloaded
from app.ports.database import Row
from app.storage.scoped import ScopedStatement, TenantDatabase

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class RetryBudget:
    """The seconds that a whole transfer may wait in all."""

    seconds: float
    sleep: Sleep = asyncio.sleep

    async def of(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call that may be made again; repeat the call after a wait where the service refuses it for now.

        Raises:
            RateLimited, UpstreamOverloaded: the wait would take more seconds than are left.
        """
        while True:
            try:
                return await call()
            except (RateLimited, UpstreamOverloaded) as error:
                wait = float(error.retry_after or 1)
                if wait > self.seconds:
                    raise
                self.seconds -= wait
                structlog.get_logger().info("transfer_waits", code=error.code, seconds=wait)
                await self.sleep(wait)

    async def rows(self, database: TenantDatabase, statement: ScopedStatement) -> list[Row]:
        """Return the rows of one statement that reads. Raises as ``of`` and the database do."""
        (rows,) = await self.of(lambda: database.run([statement]))
        return rows
