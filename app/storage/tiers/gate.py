"""The first and the last statement of every run that writes to a tier (``schema.sql``).

The first stops the run where nothing may be written, the last where the run has gone over the quota of bytes.
"""

from app.domain.author import Author
from app.domain.memory import Scope, Tenant
from app.domain.quotas import Defaults
from app.storage.declared import insert
from app.storage.scoped import ScopedStatement

# A caller that writes to a run does not always know the run's agent.
_AGENT = """
coalesce(?1 ->> 'agent_id', (
  SELECT run.agent_id FROM agent_runs AS run WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
))
"""
_ENTER = insert("tier_write", "issued_at limits ticket", agent_id=_AGENT, written_by="?1 ->> 'by'")
_LEAVE = insert("tier_written", "limits leaving may_pass", agent_id=_AGENT)


def gate(
    scope: Scope | Tenant,
    author: Author,
    defaults: Defaults | None = None,
    *,
    ticket: str | None = None,
    run_id: str | None = None,
) -> ScopedStatement:
    """Refuse the run while its scope is being erased, where the author's credential was revoked, and over the rate.

    ``defaults`` are the limits of an agent and of the tenant where the operator has set no others; without them the run
    of the database brings nothing that counts. With a ``ticket``, which is the write's own, the write counts as a
    store. With ``run_id`` the agent is that of this run.

    The run of the database raises ``RunRefused`` with the reason ``erasing``, ``revoked`` or ``over_stores``.
    """
    return ScopedStatement.write(
        scope,
        _ENTER,
        by=author.credential_id,
        issued_at=author.issued_at,
        limits=None if defaults is None else defaults.limits,
        ticket=ticket,
        run_id=run_id,
    )


def within_bytes(
    scope: Scope | Tenant, defaults: Defaults, *, run_id: str | None = None, leaving: int = 0, may_pass: bool = False
) -> ScopedStatement:
    """Refuse the run where it leaves more bytes than it began with, and more than the agent or the tenant may have.

    ``leaving`` are bytes that are deleted once the run has served its purpose. With ``may_pass`` a run that began below
    the limit may end above it. The run of the database raises ``RunRefused`` with the reason ``over_bytes_of_agent``
    or ``over_bytes_of_tenant``.
    """
    return ScopedStatement.write(
        scope, _LEAVE, limits=defaults.limits, run_id=run_id, leaving=leaving, may_pass=may_pass
    )
