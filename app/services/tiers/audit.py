"""The audit of one tenant: the trails of its runs, and all events, newest first."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.audit import AuditEvent, AuditFilter, Step, ToolCall, canonical_json, sha256_of
from app.domain.episodes import Run
from app.domain.errors import NotFound, QuotaExceeded
from app.domain.json_types import to_json
from app.domain.memory import owner_of
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import Added, errors_of, write
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_row
from app.storage.tiers import audit_listing
from app.storage.tiers.audit import RunTrail
from app.storage.tiers.episodic import Episodic
from app.storage.tiers.replay import BEGUN, ENDED, UNDER_WAY, position_of, step_of, steps
from app.storage.tiers.run_log import counted_bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """Steps of a run in the order in which they happened; ``after`` is None where no step follows."""

    run: Run
    steps: Sequence[Step]
    after: ListPosition | None


class Auditor:
    """Keeps and reads the audit of one tenant. The tenant is bound here, and no method takes another."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends

    async def record(self, run_id: str, calls: Sequence[ToolCall], *, only_agent: str | None = None) -> Added:
        """Keep tool calls of a run. A call whose id the run has already counts as known, and stays as it is.

        With ``only_agent``, the run has to be a run of that agent. A call that arrives after the run has ended is kept
        for the audit, and does not come into the replay.

        Raises:
            NotFound: the tenant has no such run; nothing was kept.
            QuotaExceeded: the run would have too many calls, or as ``write`` says; nothing was kept.
            InvalidRequest: a field is over its limits, or two calls have one id.
            Erasing, Unauthenticated, Unavailable: as ``app.services.tenant.writing.write`` does.
        """
        limits.check(("run_id", limits.RUN_ID, run_id), ("calls", limits.TOOL_CALLS, calls))
        _check_ids(calls)
        calls = [await self._screened(call, number) for number, call in enumerate(calls)]
        trail = RunTrail(owner_of(self._backends.tenant_id, only_agent))
        record = trail.record(run_id, calls, self._backends.author)
        noted = counted_bytes([to_json(call.entry) for call in calls])
        async with errors_of({"tool_calls": lambda _: self._full(trail, run_id)}):
            _, recorded, found = await write(self._backends, trail.owner, record, run_id=run_id, leaving=noted)
        if not found:
            raise NotFound("There is no such run.")
        written = {str(row["id"]) for row in recorded}
        self._backends.audit.tool_calls([call for call in calls if call.id in written])
        return Added(len(written), len(calls) - len(written))

    async def _screened(self, call: ToolCall, number: int) -> ToolCall:
        """Return a call as it may be kept: an input that was masked has another hash, which tells nothing of it."""
        name, of = f"calls.{number}", self._backends.screened
        texts = {field: text for field in ("input", "output") if (text := getattr(call, field)) is not None}
        kept = {field: canonical_json(await of(json.loads(text), f"{name}.{field}")) for field, text in texts.items()}
        if kept.get("input", call.input) != call.input:
            kept["input_hash"] = sha256_of(kept["input"])
        return replace(await of(replace(call, input=None, output=None), name), **{**texts, **kept})

    async def replay(
        self, run_id: str, *, limit: int, after: ListPosition | None = None, only_agent: str | None = None
    ) -> Replay:
        """Return the next steps of a run: its start, its calls, episodes, children and recalls, and its end.

        No write after the end of the run changes the steps. A recall is noted up to half a minute after it was made.
        A page may have fewer than ``limit`` steps though more follow: ``after`` is not None then.

        Raises:
            NotFound: the tenant, or with ``only_agent`` that agent, has no such run.
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(("run_id", limits.RUN_ID, run_id), ("limit", limits.LIST_LIMIT, limit))
        owner = owner_of(self._backends.tenant_id, only_agent)
        begins = after is None
        room = limit - begins
        # Where a page has room for the first step alone, one step behind it is read to tell whether more follow.
        states, rows = await self._backends.data.database.run(
            [
                Episodic(self._backends.tenant_id).run(run_id, only_agent),
                steps(owner, run_id, _under_way(after), limit=max(room, 1)),
            ]
        )
        if not states:
            raise NotFound("There is no such run.")
        run = read_row(Run, states[0])
        shown = [Step("started", run.started_at, run)] if begins else []
        if room < 1:
            return Replay(run, shown, ListPosition(run.started_at, BEGUN) if rows or run.ended_at is not None else None)
        shown += [step_of(row) for row in rows]
        last = position_of(rows[-1]) if rows else after or ListPosition(run.started_at, BEGUN)
        if rows and rows[-1]["following"]:
            return Replay(run, shown, last)
        return _with_end(run, shown, last, limit)

    async def events(
        self, where: AuditFilter, *, limit: int, after: ListPosition | None = None
    ) -> ListPage[AuditEvent]:
        """Return the next events that pass the filter, newest first.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, where.agent_id),
            ("event", limits.AUDIT_EVENT, where.event),
            ("memory_id", limits.MEMORY_ID, where.memory_id),
            ("run_id", limits.RUN_ID, where.run_id),
            ("written_by", limits.CREDENTIAL_ID, where.written_by),
            ("limit", limits.LIST_LIMIT, limit),
        )
        wanted = audit_listing.events(self._backends.tenant_id, where, limit=limit + 1, after=after)
        (rows,) = await self._backends.data.database.run([wanted])
        return list_page(AuditEvent, rows, limit)

    async def _full(self, trail: RunTrail, run_id: str) -> QuotaExceeded:
        ((row,),) = await self._backends.data.database.run([trail.count(run_id)])
        most = limits.MAX_TOOL_CALLS
        return QuotaExceeded(
            f"A run has at most {most} tool calls. Nothing was kept.",
            reached=f"tool_calls;scope=tenant;used={int(row['calls'] or 0)};limit={most}",
        )


def _check_ids(calls: Sequence[ToolCall]) -> None:
    seen: set[str] = set()
    for number, call in enumerate(calls):
        if call.id in seen:
            violation = limits.Violation("is the id of another call of this request")
            raise limits.out_of_bounds([(f"calls.{number}.call_id", violation)])
        seen.add(call.id)


def _under_way(after: ListPosition | None) -> ListPosition:
    """Return the position behind which the next steps between the start and the end of a run are read."""
    return after if after is not None and after.id.startswith(UNDER_WAY) else ListPosition(0, UNDER_WAY)


def _with_end(run: Run, steps: Sequence[Step], last: ListPosition, limit: int) -> Replay:
    """Add the step of the run's end, if the run has ended and the page has room for the step."""
    if run.ended_at is None or last.id == ENDED:
        return Replay(run, steps, None)
    if len(steps) >= limit:
        return Replay(run, steps, last)
    return Replay(run, [*steps, Step("ended", run.ended_at, run)], None)
