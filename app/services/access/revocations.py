"""What a process knows of the credentials that it lets in: which were revoked, and which were used.

The revoked ones are known as the database has told them at most 20 seconds ago, or since the request began.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain import sign_ins
from app.services.access.credentials import Principal, refused

MAX_AGE_SECONDS = 20.0
"""From this age on, new revocations are read before a request goes on."""


USE_MS = 3_600_000
"""A credential's use is noted once in this time, in milliseconds."""
_MOST_USED = 10_000
"""Credentials of which a process remembers that their use was noted."""


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

    def __init__(
        self, max_age_seconds: float = MAX_AGE_SECONDS, version: Callable[[], object | None] = lambda: None
    ) -> None:
        """Begin without revocations; with a maximum age of 0 each request reads the new revocations.

        ``version`` returns a value that stays the same while nobody writes to the database: then nothing is read. None
        says nothing.
        """
        self._max_age_seconds = max_age_seconds
        self._version = version
        self._known_version: object | None = None
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
        now = asyncio.get_running_loop().time()
        since = now - self._max_age_seconds
        if self._known_at is not None and (self._known_at > since or self._nothing_was_written(now)):
            return
        began = float("-inf")
        while began < since:  # a reading that began too long before this request may lack a revocation
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read(read), name="revocations")
            began = await asyncio.shield(self._reading)

    def _nothing_was_written(self, now: float) -> bool:
        """Tell whether the database is as it was before the last reading, which was made not long ago."""
        if self._known_at is None or self._known_at <= now - MAX_AGE_SECONDS or self._known_version is None:
            return False
        return self._version() == self._known_version

    async def _read(self, read: Read) -> float:
        """Read the new revocations, and return when the reading began, by the event loop's clock."""
        began, version = asyncio.get_running_loop().time(), self._version()
        while page := await read(self._last):
            for revocation in page:
                self._take(revocation)
        self._known_at, self._known_version = began, version
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


@dataclass(frozen=True, slots=True)
class CredentialUse:
    """A use of a credential at a moment, in milliseconds since the epoch."""

    principal: Principal
    at: int


class CredentialUses:
    """The uses of credentials that are not written yet: at most one an hour of each credential. All tenants share them.

    A request neither waits for the database nor makes a call of it. The uses that a process holds when it is killed are
    lost, until the credential is used an hour later.
    """

    def __init__(self, most: int = _MOST_USED) -> None:
        """Begin without uses; ``most`` credentials are remembered, and as many uses wait."""
        self._most = most
        self._noted: dict[tuple[str, str | None], int] = {}
        self._waiting: dict[tuple[str, str | None], CredentialUse] = {}

    def note(self, principal: Principal, now: int) -> None:
        """Note that a credential is used at ``now``, where it was not noted in the hour before and there is room."""
        key = (principal.tenant_id, principal.credential_id)
        if principal.is_prober or not principal.registered or now - self._noted.get(key, -USE_MS) < USE_MS:
            return
        if len(self._waiting) >= self._most:
            return
        self._noted.pop(key, None)
        if len(self._noted) >= self._most:
            del self._noted[next(iter(self._noted))]
        self._noted[key] = now
        self._waiting[key] = CredentialUse(principal, now)

    def take(self, most: int) -> Sequence[CredentialUse]:
        """Return the next uses to write, oldest first, which wait no longer."""
        keys = list(self._waiting)[:most]
        return [self._waiting.pop(key) for key in keys]

    def restore(self, uses: Sequence[CredentialUse]) -> None:
        """Let uses wait again that could not be written."""
        for use in uses:
            self._waiting.setdefault((use.principal.tenant_id, use.principal.credential_id), use)
