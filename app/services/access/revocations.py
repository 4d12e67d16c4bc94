"""The revoked credentials, as the database has told them at most 20 seconds ago, or since the request began."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.domain import sign_ins
from app.services.access.credentials import Principal, refused

MAX_AGE_SECONDS = 20.0
"""From this age on, new revocations are read before a request goes on."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """The revocation of one credential, or of all that the tenant was issued before a moment (ms since the epoch)."""

    tenant_id: str
    credential_id: str
    """Empty where the revocation is of all credentials issued before ``issued_before``."""
    issued_before: int | None
    revoked_at: int
    """Milliseconds since the epoch by the database's clock; each revocation's value is later than all before it."""


Read: TypeAlias = Callable[[int], Awaitable[list[Revocation]]]
"""Reads the next revocations after a moment (ms since the epoch, by the database's clock); empty at the end."""


class Revocations:
    """The revocations that this process knows.

    Every store and recall also reads when the last credential was revoked. So while there is traffic, no statement of
    its own reads revocations until a credential is revoked.
    """

    def __init__(self, max_age_seconds: float = MAX_AGE_SECONDS) -> None:
        """Begin without revocations; with a maximum age of 0 each request reads the new revocations."""
        self._max_age_seconds = max_age_seconds
        self._credentials: set[tuple[str, str]] = set()
        self._sign_ins: dict[tuple[str, str], int] = {}
        """Sessions and links of the console that have ended, and when (ms since the epoch), in this order."""
        self._issued_before: dict[str, int] = {}
        self._last = 0
        self._known_at: float | None = None
        self._reading: asyncio.Task[float] | None = None

    def seen(self, last: int | None) -> None:
        """Take the moment of the last revocation (ms since the epoch), just read; None where there is none."""
        if (last or 0) > self._last:
            self._known_at = None
        elif self._max_age_seconds:  # with 0 each request reads: this answer may be older than its request
            self._known_at = asyncio.get_running_loop().time()

    async def check(self, principal: Principal, read: Read) -> None:
        """Check that a credential is not revoked.

        Raises:
            Unauthenticated: the credential is revoked.
            Unavailable: the database does not answer, so that revocations are not known.
        """
        await self.refresh(read)
        before = self._issued_before.get(principal.tenant_id, 0)
        if self._is_ended(principal, principal.credential_id) or (principal.issued_at or 0) < before:
            raise refused("it was revoked")
        if principal.token_id is not None and self._is_ended(principal, principal.token_id):
            raise refused("it was revoked")

    def _is_ended(self, principal: Principal, id_: str | None) -> bool:
        named = (principal.tenant_id, id_ or "")
        return named in self._credentials or named in self._sign_ins

    async def refresh(self, read: Read) -> None:
        """Read the new revocations, unless they are known; requests that come meanwhile wait for the same reading."""
        since = asyncio.get_running_loop().time() - self._max_age_seconds
        if self._known_at is not None and self._known_at > since:
            return
        began = float("-inf")
        while began < since:  # a reading that began too long before this request may lack a revocation
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read(read), name="revocations")
            began = await asyncio.shield(self._reading)

    async def _read(self, read: Read) -> float:
        """Read the new revocations, and return when the reading began, by the event loop's clock."""
        began = asyncio.get_running_loop().time()
        while page := await read(self._last):
            for revocation in page:
                self._take(revocation)
        self._known_at = began
        return began

    def _take(self, revocation: Revocation) -> None:
        if revocation.credential_id.startswith(sign_ins.PREFIX):
            self._sign_ins[revocation.tenant_id, revocation.credential_id] = revocation.revoked_at
            while next(iter(self._sign_ins.values())) < revocation.revoked_at - sign_ins.KEPT_MS:
                del self._sign_ins[next(iter(self._sign_ins))]
        elif revocation.issued_before is None:
            self._credentials.add((revocation.tenant_id, revocation.credential_id))
        else:
            before = self._issued_before.get(revocation.tenant_id, 0)
            self._issued_before[revocation.tenant_id] = max(before, revocation.issued_before)
        self._last = revocation.revoked_at
