"""Deletes rows of all tenants that have expired or are too old, by chunks. Crosses tenants; no request imports it.

No progress is kept between two chunks: a prune that stops is simply run again, and several may run at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.errors import DatabaseUnavailable
from app.indexing.jobs.erase_blobs import remove_objects
from app.indexing.jobs.merge_words import write_words_anew
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Statement
from app.ports.object_store import NoObjectStore, ObjectStore
from app.storage.system import blobs, episodes, pruning
from app.storage.system.clock import database_time

ACT_DAYS = 400
"""How old rows of administrative acts become, unless another age is given."""
MAX_CHUNK = 500
"""How many rows of one kind one run of the database deletes."""

_PURGES, _PURGE_SECONDS = 20, 0.5
_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Pruned:
    """The numbers of rows that were deleted."""

    memories: int
    idempotency_keys: int
    audit_rows: int
    receipts: int
    ingestions: int
    model_spend: int
    episodes: int
    runs: int
    working: int
    """Keys, entries of logs and instances of working memory."""
    workflow_outcomes: int
    tool_calls: int
    recalls: int
    blobs: int
    """Large values of rows that were overwritten or deleted, in this run or before it."""
    credentials: int = 0
    """Credentials that had expired long ago."""
    acts: int = 0
    """Rows of administrative acts."""


class Prune:
    """One deletion of all rows that have expired or are too old."""

    def __init__(
        self,
        database: Database,
        *,
        audit_days: int,
        episode_days: int,
        act_days: int = ACT_DAYS,
        rate_limiter: RateLimiter,
        report: Callable[[int], None],
        objects: ObjectStore | None = None,
    ) -> None:
        """Take the database, a rate limiter, and a callback that is given the number of rows deleted so far.

        ``objects`` is the object store; None: there is none.

        ``audit_days``: how old audit rows, the tool calls of runs, the rows of recalls, the receipts of erasures,
        finished ingestions, the outcomes of workflows, the counts of what models have cost and credentials that have
        expired become;
        ``episode_days``: how old episodes and runs become; ``act_days``: the rows of administrative acts.
        """
        self._database = database
        self._audit_days = audit_days
        self._episode_days = episode_days
        self._act_days = act_days
        self._rate_limiter = rate_limiter
        self._report = report
        self._objects = NoObjectStore() if objects is None else objects
        self._deleted = 0

    async def run(self) -> Pruned:
        """Delete the memories that had expired when the run began, and the rows that were too old by then.

        The memories' vectors become pending deletes, which the indexer of a running server carries out. In the end
        neither the index of words nor the database's log has content of the deleted rows.

        Raises:
            Unavailable: the database or the object store does not answer, or the log is in use; running it again
                continues from there.
        """
        await self._rate_limiter.spend()
        now = await database_time(self._database)
        audited_until = now - self._audit_days * _DAY_MS
        happened_until = now - self._episode_days * _DAY_MS
        pruned = Pruned(
            memories=await self._repeat(pruning.delete_expired(now, MAX_CHUNK)),
            idempotency_keys=await self._repeat(pruning.delete_keys(now, MAX_CHUNK)),
            audit_rows=await self._repeat(pruning.delete_audit(audited_until, MAX_CHUNK)),
            receipts=await self._repeat(pruning.delete_receipts(audited_until, MAX_CHUNK)),
            ingestions=await self._repeat(pruning.delete_ingestions(audited_until, MAX_CHUNK)),
            model_spend=await self._repeat(pruning.delete_spend(audited_until, MAX_CHUNK)),
            episodes=await self._repeat(episodes.delete_episodes(happened_until, MAX_CHUNK)),
            runs=await self._repeat(episodes.delete_runs(happened_until, MAX_CHUNK))
            + await self._repeat(episodes.delete_delegated(MAX_CHUNK)),
            working=sum([await self._repeat(run) for run in pruning.delete_working(now, MAX_CHUNK)]),
            workflow_outcomes=await self._repeat(pruning.delete_outcomes(audited_until, MAX_CHUNK)),
            tool_calls=await self._repeat(pruning.delete_tool_calls(audited_until, MAX_CHUNK)),
            recalls=await self._repeat(pruning.delete_recalls(audited_until, MAX_CHUNK)),
            credentials=await self._repeat(pruning.delete_credentials(audited_until, MAX_CHUNK)),
            acts=await self._repeat(pruning.delete_acts(now - self._act_days * _DAY_MS, MAX_CHUNK)),
            blobs=await self._let_go(),
        )
        if pruned.memories:
            await write_words_anew(self._database, self._rate_limiter)
        if self._deleted:
            await self._purge_log()
        return pruned

    async def _repeat(self, statements: Sequence[Statement]) -> int:
        """Repeat a run until it deletes no more rows; return the number of rows that were deleted."""
        before = self._deleted
        while True:
            await self._rate_limiter.spend()
            *_, deleted = await self._database.run(statements)
            if not deleted:
                return self._deleted - before
            self._deleted += len(deleted)
            self._report(self._deleted)

    async def _purge_log(self) -> None:
        """Purge the database's log, once no process reads it.

        Raises:
            DatabaseUnavailable: the log is read for long.
        """
        for _ in range(_PURGES):
            if await self._database.purge_log():
                return
            await asyncio.sleep(_PURGE_SECONDS)
        raise DatabaseUnavailable("The database's log is in use, so it keeps what was pruned. Prune again.")

    async def _let_go(self) -> int:
        """Remove the objects of blobs that no row refers to any more, and then their rows; return how many."""
        before = self._deleted
        while True:
            await self._rate_limiter.spend()
            (rows,) = await self._database.run([blobs.let_go()])
            if not rows:
                return self._deleted - before
            gone = [(str(row["tenant_id"]), str(row["id"])) for row in rows]
            for tenant_id in {tenant_id for tenant_id, _ in gone}:
                await remove_objects(self._objects, tenant_id, [id_ for whose, id_ in gone if whose == tenant_id])
            await self._rate_limiter.spend()
            await self._database.run([blobs.remove_let_go(gone)])
            self._deleted += len(gone)
            self._report(self._deleted)
