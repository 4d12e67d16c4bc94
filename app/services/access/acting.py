"""Writes the row of an administrative act before the act, and its outcome after it: without its row no act happens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeAlias

import structlog
from ulid import ULID

from app.domain.acts import Act, ActName, ActOutcome, counts_of, subject_of
from app.domain.errors import Forbidden, MemoryGatewayError, Unauthenticated
from app.ports.database import Row
from app.storage.acts import ActRows
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

RunStatements: TypeAlias = Callable[[Sequence[ScopedStatement]], Awaitable[list[list[Row]]]]
"""Runs statements of the tenant, as ``Database.run`` does."""
Late: TypeAlias = Callable[[str, Act], None]
"""Takes a tenant and an act whose outcome could not be written, to write it later."""


@dataclass(slots=True)
class Acting:
    """An act under way. Who does it adds to ``subject`` and ``counts``, and ends it once.

    Attributes:
        act: The act, as its row tells of it.
        subject: The ids that are known only once the act is done, such as that of a credential that was minted.
        counts: How many things the act has concerned so far.
    """

    tenant_id: str
    act: Act
    run: RunStatements
    key: bytes | None
    late: Late
    began: float = field(default_factory=monotonic)
    subject: dict[str, object] = field(default_factory=dict)
    counts: dict[str, object] = field(default_factory=dict)

    async def end(self, error: BaseException | None = None) -> None:
        """Write the outcome: ``done``, or by the error ``refused`` or ``failed``.

        Where it cannot be written now it is written later: the act is done, and its answer is not held back.
        """
        ended = self.ended_by(error)
        if error is not None and not isinstance(error, Exception):  # a caller that has gone, or a process that ends
            self.late(self.tenant_id, ended)
            return
        try:
            await self.run([ActRows(self.tenant_id).end(ended)])
        except asyncio.CancelledError:  # the caller has gone meanwhile; an outcome that is there is not written again
            self.late(self.tenant_id, ended)
            raise
        except MemoryGatewayError as unwritten:
            structlog.get_logger().warning("act_end_waits", act=ended.act, code=unwritten.code)
            self.late(self.tenant_id, ended)

    def ended_by(self, error: BaseException | None) -> Act:
        """Return the act as it has ended now, signed where there is a key."""
        counts, outcome = counts_of(self.counts), outcome_of(error)
        ended = replace(
            self.act,
            outcome=outcome,
            code=None
            if error is None
            else error.code
            if isinstance(error, MemoryGatewayError)
            else type(error).__name__,
            subject={**self.act.subject, **subject_of(self.subject)},
            counts=counts,
            ended_at=self.act.begun_at + round((monotonic() - self.began) * 1000),
        )
        return ended if self.key is None else ended.signed(self.key, self.tenant_id)


def outcome_of(error: BaseException | None) -> ActOutcome:
    """Return the outcome of an act that ended with this error, or with None."""
    if error is None:
        return "done"
    return "refused" if isinstance(error, Forbidden | Unauthenticated) else "failed"


async def begin(
    name: ActName,
    tenant_id: str,
    run: RunStatements,
    *,
    key: bytes | None,
    late: Late,
    by: Act,
    subject: Mapping[str, object],
) -> Acting:
    """Write that an act begins, and return it.

    Args:
        name: The act's name.
        tenant_id: The tenant that it concerns; ``DEPLOYMENT``: all tenants.
        run: Runs statements of the tenant.
        key: The key that signs the row; None: it is not signed.
        late: Takes the act where its outcome cannot be written.
        by: An act with the fields of who does it.
        subject: The ids that the act names; see ``subject_of``.

    Raises:
        MemoryGatewayError: the row cannot be written; the act must not be done.
    """
    act = replace(by, id=str(ULID()), act=name, subject=subject_of(subject))
    *_, rows = await run(ActRows(tenant_id).begin(act))
    return Acting(tenant_id, read_row(Act, rows[0]), run, key, late)


@asynccontextmanager
async def ended(acting: Acting) -> AsyncIterator[Acting]:
    """Do an act that has begun, and write its outcome in the end."""
    try:
        yield acting
    except BaseException as error:
        await acting.end(error)
        raise
    await acting.end()
