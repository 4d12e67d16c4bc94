"""Which credentials hold no longer, as the database said at most 20 seconds ago, or since the request began."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.services.access.credentials import Principal, refused

MAX_AGE_SECONDS = 20.0
"""From this age on, what is known is read again before a request goes on."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """One credential of a tenant, or those that were issued to the tenant before a moment (ms since the epoch)."""

    tenant_id: str
    credential_id: str
    """Empty: all of the tenant's."""
    issued_before: int | None
    revoked_at: int
    """By the database's clock; later than that of every revocation before it."""


Read: TypeAlias = Callable[[int], Awaitable[list[Revocation]]]
"""Reads the next revocations after a moment (ms since the epoch, by the database's clock); none: there are no more."""


class Revocations:
    """The revocations that this process knows.

    Every store and recall reads in passing when the last credential was revoked: while there is traffic, nothing is
    read for this alone until one is.
    """

    def __init__(self, max_age_seconds: float = MAX_AGE_SECONDS) -> None:
        """Begin without knowing any; with a maximum age of 0 each request reads what is new."""
        self._max_age_seconds = max_age_seconds
        self._credentials: set[tuple[str, str]] = set()
        self._issued_before: dict[str, int] = {}
        self._last = 0
        self._known_at: float | None = None
        self._reading: asyncio.Task[float] | None = None

    def seen(self, last: int | None) -> None:
        """Take when the last credential was revoked, as the database has just said."""
        if (last or 0) > self._last:
            self._known_at = None
        elif self._max_age_seconds:  # an answer may tell of a moment before a request began that asks now
            self._known_at = asyncio.get_running_loop().time()

    async def check(self, principal: Principal, read: Read) -> None:
        """Return where a credential is not revoked.

        Raises:
            Unauthenticated: it is.
            Unavailable: it is not known, since the database does not answer.
        """
        await self.refresh(read)
        before = self._issued_before.get(principal.tenant_id, 0)
        revoked = (principal.tenant_id, principal.credential_id) in self._credentials
        if revoked or (principal.issued_at or 0) < before:
            raise refused("it was revoked")

    async def refresh(self, read: Read) -> None:
        """Read what is new, unless that is known; requests that come meanwhile wait for the same reading."""
        since = asyncio.get_running_loop().time() - self._max_age_seconds
        if self._known_at is not None and self._known_at > since:
            return
        began = float("-inf")
        while began < since:  # a reading that had begun before this request may tell of a moment before it
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read(read), name="revocations")
            began = await asyncio.shield(self._reading)

    async def _read(self, read: Read) -> float:
        """Read what is new, and return when the reading began."""
        began = asyncio.get_running_loop().time()
        while page := await read(self._last):
            for revocation in page:
                self._take(revocation)
        self._known_at = began
        return began

    def _take(self, revocation: Revocation) -> None:
        if revocation.issued_before is None:
            self._credentials.add((revocation.tenant_id, revocation.credential_id))
        else:
            before = self._issued_before.get(revocation.tenant_id, 0)
            self._issued_before[revocation.tenant_id] = max(before, revocation.issued_before)
        self._last = revocation.revoked_at
