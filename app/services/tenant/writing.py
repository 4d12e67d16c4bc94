"""Writes to a tier: the conditions that hold for every write, whatever the tier."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ulid import ULID

from app.domain.errors import Erasing, FieldError, MemoryGatewayError, NotFound, Unavailable
from app.domain.memory import Scope, Tenant
from app.domain.quotas import Use, exceeded
from app.ports.database import Row, RunRefused
from app.services.access.credentials import refused
from app.services.tenant.backends import TenantBackends
from app.storage.quotas import Quotas, usages
from app.storage.scoped import ScopedStatement
from app.storage.tiers.gate import gate, within_bytes
from app.storage.tiers.run_log import keep
from app.storage.tiers.runs import agent_of_run

NO_RUN = "There is no such run."

WriteKind: TypeAlias = Literal["store", "import", "staging", "upkeep"]
"""The kind that a write counts as.

A store counts in the rate, and must fit into the quota of bytes. An import must fit. Staging writes messages, which
are counted once they are memories, and begins where there is room for a byte. Upkeep adds no data.
"""

_OVER = ("over_stores", "over_bytes_of_agent", "over_bytes_of_tenant")
Refusals: TypeAlias = Mapping[str, Callable[[str], MemoryGatewayError | Awaitable[MemoryGatewayError]]]
"""Makers of errors by the reasons of triggers. A maker takes the reason, and may read how much is used."""


@dataclass(frozen=True, slots=True)
class Added:
    """How many items of a request were written, and how many were known already."""

    written: int
    known: int


async def write(
    backends: TenantBackends,
    scope: Scope | Tenant,
    statements: Sequence[ScopedStatement],
    *,
    kind: WriteKind = "store",
    run_id: str | None = None,
    agents: Sequence[str] = (),
    leaving: int = 0,
) -> list[list[Row]]:
    """Run a tier's statements within the gate of all tiers, and return the rows of each statement.

    ``scope`` is the agent that the data belongs to, or the tenant where all of its agents share the data. With
    ``run_id`` the data belongs to the agent of that run, whose state and log keep that it began or ended; with
    ``agents`` the data belongs to these agents too. ``leaving`` is the number of bytes that are deleted again soon
    after the write.

    Raises:
        Erasing: the agent or the tenant is being erased; nothing was written.
        QuotaExceeded: the agent or the tenant would hold too many bytes, or writes too often; nothing was written.
        Unauthenticated: the credential was revoked; nothing was written.
        RunRefused: one of the tier's own triggers refused the run, for ``errors_of``; nothing was written.
        Unavailable: the database does not answer; some of the data may be written.
    """
    scopes = [scope, *(Scope(backends.tenant_id, agent_id) for agent_id in agents)]
    limits = None if kind == "upkeep" else backends.limits.quotas
    ticket = str(ULID()) if kind == "store" else None
    before = [gate(owner, backends.author, limits, ticket=ticket, run_id=run_id) for owner in scopes]
    after = [
        within_bytes(owner, limits, run_id=run_id, leaving=leaving, may_pass=kind == "staging")
        for owner in scopes
        if limits is not None
    ]
    # The statement that writes a run's own state and log comes last, so that no quota refuses it.
    noted = [] if run_id is None else [keep(Tenant(backends.tenant_id), run_id)]
    of_gate: Refusals = {
        "erasing": lambda _: _erasing(),
        "revoked": lambda _: refused("it was revoked"),
        **dict.fromkeys(_OVER, lambda reason: _over(backends, scope, reason, run_id=run_id, agents=agents)),
    }
    async with errors_of(of_gate):
        rows = await backends.data.database.run([*before, *statements, *after, *noted])
    return rows[len(before) : len(before) + len(statements)]


@asynccontextmanager
async def errors_of(refusals: Refusals) -> AsyncIterator[None]:
    """Raise the error that a trigger's refusal stands for; a refusal with another reason is raised as it is."""
    try:
        yield
    except RunRefused as refusal:
        if refusal.reason not in refusals:
            raise
        error = refusals[refusal.reason](refusal.reason)
        raise (error if isinstance(error, MemoryGatewayError) else await error) from refusal


def _erasing() -> Erasing:
    return Erasing("The agent, or its tenant, is being erased. Try again once the erasure has its receipt.")


async def _over(
    backends: TenantBackends, scope: Scope | Tenant, reason: str, *, run_id: str | None, agents: Sequence[str]
) -> MemoryGatewayError:
    """Return the error for the limit that a write was over, with how much of the limit is used by now."""
    owners = [*agents, scope.agent_id] if isinstance(scope, Scope) else [*agents]
    if run_id is not None and not owners:
        (rows,) = await backends.data.database.run([agent_of_run(Tenant(backends.tenant_id), run_id)])
        owners = [str(row["agent_id"]) for row in rows]
    (rows,) = await backends.data.database.run([Quotas(backends.tenant_id, backends.limits.quotas).read_each(owners)])
    over = _reached([use for usage in usages(rows) for use in usage.uses], reason)
    if not over:  # the limit was lifted meanwhile
        return Unavailable("The limits are just being changed. Try again.")
    return exceeded(over, next_minute=int(rows[-1]["next_minute"] or 0))


def _reached(uses: Sequence[Use], reason: str) -> Sequence[Use]:
    """Return the limits that the gate's reason is about; of limits of bytes, the limit of which the least is left."""
    if reason == "over_stores":
        rates = [use for use in uses if use.name == "stores_per_minute"]
        return [use for use in rates if use.used >= use.limit] or rates
    of = reason.removeprefix("over_bytes_of_")
    sizes = [use for use in uses if use.name == "bytes" and use.scope == of]
    return sorted(sizes, key=lambda use: use.limit - use.used)[:1]


def no_such_run() -> NotFound:
    """Return the error of a request that names a run which the agent does not have."""
    return NotFound(NO_RUN, errors=[FieldError("run_id", "names no such run")])
