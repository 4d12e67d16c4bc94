"""Renews a lease while work under it goes on, and ends the work where the lease is lost."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass

import structlog

from app.domain.errors import Unavailable
from app.ports.database import Database
from app.storage.system.leases import Lease, NamedLease

_RENEWALS = 3
"""How often a lease is renewed within its length: two renewals may fail."""


@dataclass(frozen=True, slots=True)
class LeaseKeeper:
    """Keeps one lease for one holder."""

    database: Database
    lease: NamedLease
    holder: str

    async def keep(self, work: Coroutine[object, object, None], *, since: float, lease_ms: int) -> bool:
        """Do work under the lease, which was taken for ``lease_ms`` after the loop's time ``since``.

        Returns False where the lease was lost, or could not be renewed in time: then the work was cut off. Raises the
        errors that the work raises.
        """
        loop, seconds = asyncio.get_running_loop(), lease_ms / 1000
        working = asyncio.ensure_future(work)
        ends = since + seconds
        try:
            while True:
                await asyncio.wait({working}, timeout=max(0.0, min(ends - loop.time(), seconds / _RENEWALS)))
                if working.done():
                    working.result()
                    return True
                began = loop.time()
                renewed = await self._renew(lease_ms)
                if renewed:
                    ends = began + seconds
                elif renewed is False or loop.time() >= ends:
                    break
        finally:
            if not working.done():
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working
        structlog.get_logger().warning("lease_lost", lease=self.lease.name, holder=self.holder)
        return False

    async def _renew(self, lease_ms: int) -> bool | None:
        """Return whether the holder still has the lease; None where the database does not answer."""
        try:
            (held,) = await self.database.run([self.lease.hold(self.holder, lease_ms)])
        except Unavailable as error:
            structlog.get_logger().warning("lease_not_renewed", lease=self.lease.name, code=error.code)
            return None
        return bool(held)


def log_void(found: Lease) -> None:
    """Log that a lease was void, if it was."""
    if found.void:
        structlog.get_logger().warning(
            "lease_void", lease=found.name, holder=found.holder, ahead_seconds=found.left_ms // 1000
        )
