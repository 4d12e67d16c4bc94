"""What is set for a tenant or an agent, by the product's own calls: settings, limits, revocations, runs."""

from collections.abc import Mapping
from typing import Any

from ulid import ULID

from app.domain.author import Author
from app.domain.episodes import NewRun
from app.domain.quotas import LimitName
from app.services.memories.browse import Browser
from app.services.tiers.episodic import Begun, EpisodicMemory
from app.storage.quotas import Quotas
from app.storage.system import revocations
from tests.support.tables import Source, insert_rows, rows_of

_OPERATOR = Author("administrator", "http", may_replace=True)


async def switch(backends: Any, agent_id: str = "bot", *, on: bool, tenant_id: str = "acme") -> None:
    """Switch an agent's long-term memory on or off."""
    await Browser(backends.of_tenant(tenant_id, _OPERATOR)).set_agent(agent_id, {"long_term_enabled": on})


async def retain(backends: Any, days: int, agent_id: str = "bot", *, tenant_id: str = "acme") -> None:
    """Have an agent's new memories expire after so many days."""
    await Browser(backends.of_tenant(tenant_id, _OPERATOR)).set_agent(agent_id, {"retention_days": days})


async def revoke(backends: Any, credential_id: str = "administrator", *, tenant_id: str = "acme") -> None:
    """Revoke a credential, in the database: what this process knows of it is as it was."""
    await backends.database.run([revocations.revoke(tenant_id, credential_id)])


async def limit(
    backends: Any, limits: Mapping[LimitName, int | None], agent_id: str | None = None, *, tenant_id: str = "acme"
) -> None:
    """Set limits of a tenant, or of one of its agents."""
    own = backends.of_tenant(tenant_id, _OPERATOR)
    await own.data.database.run([Quotas(tenant_id, own.limits.quotas).set(agent_id, limits)])


async def begin_run(
    backends: Any,
    run_id: str,
    agent_id: str = "bot",
    *,
    tenant_id: str = "acme",
    agent_type: str = "type",
    **given: Any,
) -> Begun:
    """Begin a run with this id."""
    service = EpisodicMemory(backends.of_tenant(tenant_id, _OPERATOR))
    run = NewRun(agent_id, agent_type, given.pop("input", {}), run_id=run_id, **given)
    return await service.begin(run)


async def erasing(backends: Any, agent_id: str = "bot", *, tenant_id: str = "acme") -> None:
    """Have an erasure of an agent be under way, though nothing of the agent is there."""
    row = {"id": str(ULID()), "tenant_id": tenant_id, "agent_id": agent_id, "accepted_at": 1, "advanced_at": 1}
    await insert_rows(backends, "erasure", row)


async def old_run(source: Source, run_id: str, agent_id: str = "bot", *, tenant_id: str = "acme") -> None:
    """Have a run be under way that a version has begun which kept neither state nor log; once, if it is there."""
    if not await rows_of(source, "agent_runs", "id", tenant_id=tenant_id, id=run_id):
        whose = {"tenant_id": tenant_id, "agent_id": agent_id, "agent_type": "type"}
        own = {"id": run_id, "status": "running", "input": '{"input":null,"episode_ids":[]}', "started_at": 1}
        await insert_rows(source, "agent_runs", whose | own)
