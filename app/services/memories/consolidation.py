"""Tells which memories of a tenant a consolidation has merged, or would merge, and takes merges back."""

from collections.abc import Sequence

import structlog

from app.domain import limits
from app.domain.consolidation import MAX_NAMED, Consolidation, ConsolidationForecast, ConsolidationUndone, Merge
from app.domain.errors import FieldError, NotFound
from app.domain.memory import Scope, Tenant
from app.indexing.consolidation import ScopeConsolidation
from app.services.tenant.backends import TenantBackends
from app.storage import consolidating
from app.storage.rows import read_rows

CHUNK = 500
"""Merges that one run takes back."""
MAX_CHUNKS = 10
"""Runs of one undo; where merges are left, the answer says so."""
MAX_MEMORIES = 5_000
"""An agent's memories, the newest, that a dry run looks at; the command has no such limit."""


class Consolidations:
    """The consolidations of one tenant, bound here; a job makes them (``app.indexing.jobs.consolidate``)."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends
        self._tenant = Tenant(backends.tenant_id)

    async def latest(self, limit: int) -> Sequence[Consolidation]:
        """Return the newest consolidations, at most ``limit``, which is 1 to 100.

        Raises:
            InvalidRequest: the limit is outside its bounds.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.LIST_LIMIT, limit))
        (rows,) = await self._backends.data.database.run([consolidating.reports(self._tenant, limit)])
        return consolidating.read_reports(rows)

    async def dry_run(self, agent_id: str) -> ConsolidationForecast:
        """Return the merges of an agent's word-for-word equal memories that the next consolidation would make.

        Nothing is changed. Only the command's dry run tells which merges a reader would add: reading takes longer than
        a request.

        Raises:
            InvalidRequest: the id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        scope = Scope(self._backends.tenant_id, agent_id)
        finding = ScopeConsolidation(scope, self._backends.data.database.run, None, pause=self._backends.admission.part)
        merges = await finding.alike(MAX_MEMORIES)
        facts = sum(merge.kind == "fact" for merge in merges)
        return ConsolidationForecast(len(merges) - facts, facts, merges[:MAX_NAMED], finding.is_cut)

    async def undo_dry_run(self, consolidation_id: str) -> ConsolidationUndone:
        """Return what ``undo`` would do, and change nothing; raises as ``undo`` does."""
        self._check(consolidation_id)
        statements = consolidating.forecast_undo(self._tenant, consolidation_id)
        known, (counted,), named = await self._backends.data.database.run(statements)
        if not known:
            raise _unknown()
        merges = read_rows(Merge, named)
        return ConsolidationUndone(
            consolidation_id, dry_run=True, memories=int(counted["n"] or 0), merges=merges, more=False
        )

    async def undo(self, consolidation_id: str) -> ConsolidationUndone:
        """Have the memories that a consolidation has merged hold again, but for those that were replaced meanwhile.

        A later consolidation does not merge them again. Undoing again is safe, and needed where ``more`` is true.

        Raises:
            InvalidRequest: the id is malformed.
            NotFound: the tenant has no such consolidation.
            Unavailable: the database does not answer; some merges may be taken back.
        """
        self._check(consolidation_id)
        merges: list[Merge] = []
        more = True
        for _ in range(MAX_CHUNKS):
            author, now = self._backends.author, self._backends.clock()
            statements = consolidating.undo(self._tenant, consolidation_id, CHUNK, by=author.credential_id, now=now)
            known, _, undone, _, (progress,) = await self._backends.data.database.run(statements)
            if not known:
                raise _unknown()
            merges += read_rows(Merge, undone)
            more = bool(progress["more"])
            if not more:
                break
        structlog.get_logger().info("consolidation_undone", consolidation=consolidation_id, memories=len(merges))
        return ConsolidationUndone(
            consolidation_id, dry_run=False, memories=len(merges), merges=merges[:MAX_NAMED], more=more
        )

    @staticmethod
    def _check(consolidation_id: str) -> None:
        limits.check(("consolidation_id", limits.CONSOLIDATION_ID, consolidation_id))


def _unknown() -> NotFound:
    return NotFound(
        "There is no such consolidation.", errors=[FieldError("consolidation_id", "names no such consolidation")]
    )
