"""Takes back what a run, a session or a credential has taught; a dry run tells first what an undo would do."""

from collections.abc import Sequence

import structlog

from app.domain import limits
from app.domain.errors import InvalidRequest
from app.domain.memory import Scope, Tenant
from app.domain.undoing import Forecast, Going, Holding, RecentSource, RecentSources, Selected, Undone
from app.ports.database import Row
from app.services.memories.sessions import Sessions
from app.services.memories.undo import MAX_CHUNKS, Undo
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import no_such_run
from app.storage import request_state
from app.storage.recent_sources import count_of, recent_sources
from app.storage.rows import read_rows
from app.storage.taught import undo_run_chunk
from app.storage.undo_forecast import MAX_COUNTED, forecast, told_too

_NAMED = limits.MAX_UNDO_NAMED


class UndoTaught:
    """Undoes what runs, sessions and credentials have taught, for one tenant, bound here.

    Runs, episodes, and the keys, states and logs of working memory stay: they say what happened. The window of a
    session is deleted with the session, since its messages would become memories.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends
        self._tenant = Tenant(backends.tenant_id)

    async def dry_run(self, selected: Selected, *, skip: int = 0) -> Undone:
        """Return what ``run`` would do, and change nothing; the first ``skip`` memories are not named.

        Raises:
            InvalidRequest: the credential is the caller's own.
            NotFound: the tenant has no such run, and no memory that names it.
            Unavailable: the database does not answer.
        """
        self._check(selected)
        retold = [] if selected.session_id is not None else await self._told_too(selected)
        statements = forecast(self._tenant, selected, retold)
        (counts,), going, holding = await self._backends.data.database.run(statements)
        if not counts["known"]:
            raise no_such_run()
        memories, changed, messages = len(going), int(counts["changed"] or 0), int(counts["messages"] or 0)
        outcomes = int(counts["outcomes"] or 0)
        most = max(changed, messages, memories, outcomes, len(retold))
        said = _forecast(going, holding, skip, cut=bool(counts["cut"]) or most > MAX_COUNTED)
        return Undone(
            memories, changed, messages, outcomes, more=False, finished_at=int(counts["now"] or 0), forecast=said
        )

    async def recent(self) -> RecentSources:
        """Return the sessions, runs and credentials that have written the newest memories of the tenant.

        Raises:
            Unavailable: the database does not answer.
        """
        kinds = await self._backends.data.database.run(recent_sources(self._tenant))
        sessions, runs, credentials = (read_rows(RecentSource, rows) for rows in kinds)
        return RecentSources(sessions, runs, credentials)

    async def counts(self, sources: Sequence[Selected]) -> Sequence[int]:
        """Return how many memories each source has; 501 stands for 501 or more.

        Raises:
            Unavailable: the database does not answer.
        """
        found = await self._backends.data.database.run([count_of(self._tenant, source) for source in sources])
        return [int(row["memories"] or 0) for (row,) in found]

    async def run(self, selected: Selected) -> Undone:
        """Delete the selected memories, and those learned of them: the memories that they had superseded hold again.

        A credential is revoked first (``memories.undo``). Undoing again is safe, and needed where ``more``
        is true.

        Raises:
            InvalidRequest: the credential is the caller's own.
            NotFound: the tenant has no such run, and no memory that names it.
            QuotaExceeded: too many credentials of the tenant were revoked.
            Unavailable: the database does not answer; some memories may be taken back.
        """
        self._check(selected)
        if selected.credential_id is not None:
            receipt = await Undo(self._backends).run(selected.credential_id)
            done_of = (receipt.memories, receipt.changed, 0, receipt.outcomes)
            return Undone(*done_of, receipt.more, receipt.finished_at)
        if selected.session_id is not None and selected.agent_id is not None:
            scope = Scope(self._backends.tenant_id, selected.agent_id)
            done = await Sessions(self._backends).delete(scope, selected.session_id, undone=True)
            return Undone(done.memories, 0, done.messages, 0, done.more, self._backends.clock())
        return await self._undo_run(selected.run_id or "")

    async def _told_too(self, selected: Selected) -> list[str]:
        (rows,) = await self._backends.data.database.run([told_too(self._tenant, selected)])
        return [str(row["id"]) for row in rows]

    async def _undo_run(self, run_id: str) -> Undone:
        memories = changed = messages = 0
        for _ in range(MAX_CHUNKS):
            chunk = undo_run_chunk(self._tenant, run_id, self._backends.author, now=self._backends.clock())
            results = await self._backends.data.database.run([*chunk, request_state.read(self._tenant)])
            (known,), waiting, *_, deleted, restored, (progress,), (state,) = results
            self._backends.data.observe(state)
            if not known["known"] and not memories + changed + messages:
                raise no_such_run()
            memories, changed, messages = memories + len(deleted), changed + len(restored), messages + len(waiting)
            if not progress["more"]:
                break
        structlog.get_logger().info("run_undone", run_id=run_id, memories=memories, changed=changed)
        return Undone(memories, changed, messages, 0, bool(progress["more"]), int(progress["now"] or 0))

    def _check(self, selected: Selected) -> None:
        own = self._backends.author.credential_id
        if own is not None and selected.credential_id == own:
            raise InvalidRequest("A credential cannot undo its own work: it would be revoked before the end.")


def _forecast(going: Sequence[Row], holding: Sequence[Row], skip: int, *, cut: bool) -> Forecast:
    agents = sorted({str(row["agent_id"]) for row in going})
    held = [row for row in holding if row["memory_id"] is not None]
    return Forecast(
        learned=sum(bool(row["through"]) for row in going),
        agents=len(agents),
        agent_ids=agents[:_NAMED],
        going=[Going(str(row["id"]), str(row["agent_id"])) for row in going[skip : skip + _NAMED]],
        holds_again=len(held),
        holding=[
            Holding(str(row["memory_id"]), str(row["agent_id"]), str(row["content"]))
            for row in held[skip : skip + _NAMED]
        ],
        at_least=cut or len(held) < len(holding),
    )
