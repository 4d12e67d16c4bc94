"""Writes to a tier: what must hold of every one of them, whatever the tier."""

from collections.abc import Sequence

from app.domain.errors import Erasing
from app.domain.memory import Scope, Tenant
from app.ports.database import Row, RunRefused
from app.services.backends import TenantBackends
from app.services.credentials import refused
from app.storage.scoped import ScopedStatement
from app.storage.tiers.gate import gate


async def write(
    backends: TenantBackends, scope: Scope | Tenant, statements: Sequence[ScopedStatement]
) -> list[list[Row]]:
    """Run a tier's statements behind the gate of all tiers, and return the rows of each of them.

    ``scope`` is the agent that the data belongs to, or the tenant where all of its agents share the data.

    Raises:
        Erasing: the agent or the tenant is being erased; nothing was written.
        Unauthenticated: the credential was revoked; nothing was written.
        RunRefused: one of the tier's own triggers refused the run; nothing was written.
        Unavailable: the database does not answer; some of it may be written.
    """
    try:
        _, *rows = await backends.database.run([gate(scope, backends.author), *statements])
    except RunRefused as refusal:
        match refusal.reason:
            case "erasing":
                raise Erasing(
                    "The agent, or its tenant, is being erased. Try again once the erasure has its receipt."
                ) from refusal
            case "revoked":
                raise refused("it was revoked") from refusal
            case _:
                raise
    return rows
