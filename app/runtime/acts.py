"""Writes what of administrative acts is written behind: attempts that were refused, and outcomes that had to wait."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from time import monotonic

import structlog

from app.domain.acts import DEPLOYMENT, Act, ActName
from app.domain.author import WriteChannel
from app.domain.errors import DatabaseRejected, MemoryGatewayError
from app.services.access.acting import RunStatements
from app.storage.acts import ActRows
from app.storage.scoped import ScopedStatement

WRITE_SECONDS = 30.0
"""The pause between two writings."""
MOST_KINDS = 1_000
"""The most kinds of attempts that a process counts in a day: what is beyond is counted under no credential."""
_MOST_LATE = 1_000
_BATCH = 40
_MOST_FAILURES = 3
"""Tenants that cannot be written for, after which a round ends: the database is away."""
_DAY_MS = 24 * 3600 * 1000


@dataclass(slots=True)
class _Attempts:
    """The attempts of one credential at one act on one day, as this process has counted them."""

    row: Act
    first: float
    last: float
    changed: bool = True


class LateActs:
    """What is written behind, of all tenants; a killed process loses what it has counted for half a minute at most.

    Attempts that were refused are counted by tenant, credential, act, error and channel: one row a day, a process and a
    kind, however many there are. The number of kinds is bounded.
    """

    def __init__(self, name: str, clock: Callable[[], int], key: Callable[[], bytes]) -> None:
        """Take the name of the process, its clock (ms since the epoch), and the key that signs rows."""
        self._name = name
        self._clock = clock
        self._key = key
        self._day = 0
        self._attempts: dict[tuple[str, str], _Attempts] = {}
        self._late: deque[tuple[str, Act]] = deque(maxlen=_MOST_LATE)
        self._failed: set[str] = set()
        """The tenants that could not be written for the last time: the others come first."""

    def ended(self, tenant_id: str, act: Act) -> None:
        """Take an act whose outcome could not be written."""
        self._late.append((tenant_id, act))

    def refused(
        self, tenant_id: str, credential_id: str | None, act: ActName, code: str, channel: WriteChannel
    ) -> None:
        """Count an attempt that was refused; ``DEPLOYMENT`` stands for a tenant that is not known."""
        now, day = monotonic(), self._clock() // _DAY_MS
        if day != self._day:
            self._day = day
            self._attempts = {key: counted for key, counted in self._attempts.items() if counted.changed}
        key = self._id(tenant_id, credential_id, act, code, channel)
        if (tenant_id, key) not in self._attempts and len(self._attempts) >= MOST_KINDS:
            tenant_id, credential_id, act, code, channel = DEPLOYMENT, None, "access", "too_many", "http"
            key = self._id(tenant_id, credential_id, act, code, channel)
        counted = self._attempts.get((tenant_id, key))
        if counted is None:
            who = Act(key, act, outcome="refused", code=code, channel=channel, credential_id=credential_id, attempts=0)
            counted = self._attempts[tenant_id, key] = _Attempts(who, now, now)
        counted.row = replace(counted.row, attempts=counted.row.attempts + 1)
        counted.last, counted.changed = now, True

    def _id(self, *kind: str | None) -> str:
        return sha256("\n".join([*map(str, kind), self._name, str(self._day)]).encode()).hexdigest()[:26]

    async def write(self, run_of: Callable[[str], Awaitable[RunStatements]]) -> None:
        """Write what is left, for each tenant in runs of its own; without any there is no call.

        What cannot be written stays, and what the database refuses for good is logged and let go. A tenant whose shard
        does not answer keeps no other one waiting.

        Args:
            run_of: Returns what runs statements of a tenant in the shard where it lives.

        Raises:
            MemoryGatewayError: something could not be written.
        """
        changed = [(tenant_id, each) for (tenant_id, _), each in self._attempts.items() if each.changed]
        failures: list[MemoryGatewayError] = []
        waiting = {*(tenant_id for tenant_id, _ in changed), *(tenant_id for tenant_id, _ in self._late)}
        self._failed &= waiting
        for tenant_id in sorted(waiting, key=lambda tenant_id: (tenant_id in self._failed, tenant_id)):
            try:
                run = await run_of(tenant_id)
                await self._write_late(run, tenant_id)
                await self._write_attempts(run, tenant_id, [each for of, each in changed if of == tenant_id])
                self._failed.discard(tenant_id)
            except MemoryGatewayError as error:
                self._failed.add(tenant_id)
                failures.append(error)
                if len(failures) == _MOST_FAILURES:
                    break
        if failures:
            raise failures[0]

    async def _write_late(self, run: RunStatements, tenant_id: str) -> None:
        for waiting in [each for each in self._late if each[0] == tenant_id]:
            await _run(run, [ActRows(tenant_id).end(waiting[1])])
            with suppress(ValueError):  # there were more than wait at most, and it was let go meanwhile
                self._late.remove(waiting)

    async def _write_attempts(self, run: RunStatements, tenant_id: str, own: Sequence[_Attempts]) -> None:
        key, rows = self._key(), ActRows(tenant_id)
        for start in range(0, len(own), _BATCH):
            batch, now = own[start : start + _BATCH], monotonic()
            statements = [
                rows.count(
                    counted.row.counted(key, tenant_id),
                    first_ago=round((now - counted.first) * 1000),
                    last_ago=round((now - counted.last) * 1000),
                )
                for counted in batch
            ]
            for counted in batch:
                counted.changed = False
            try:
                await _run(run, statements)
            except BaseException:  # a process that ends cancels a writing, and writes once more
                for counted in batch:
                    counted.changed = True
                raise


async def _run(run: RunStatements, statements: Sequence[ScopedStatement]) -> None:
    """Run statements; what the database refuses would be refused again and keep out all that follows: it is logged."""
    try:
        await run(statements)
    except DatabaseRejected as error:
        structlog.get_logger().error("acts_refused", rows=len(statements), reason=error.detail)
