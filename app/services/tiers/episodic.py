"""The episodic tier: runs of agents, and what happened in them."""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog
from ulid import ULID

from app.domain import limits
from app.domain.episodes import Episode, EpisodesWanted, NewEpisode, NewRun, Run, RunStatus, RunsWanted
from app.domain.errors import (
    Conflict,
    FieldError,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    RunEnded,
)
from app.domain.json_types import Json, same_json, to_json
from app.domain.memory import Scope, Tenant, owner_of
from app.domain.moments import moment
from app.domain.quotas import WARN_FROM, Use
from app.ports.database import Row
from app.services.blobs.large_values import LargeValues, StoredValue, is_large
from app.services.memories.write import Warn
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import Added, Refusals, errors_of, write
from app.storage.declared import ListPage, list_page
from app.storage.listing import ListPosition
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers.episodic import Episodic

_NO_RUN = "There is no such run."


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and the episodes that it was given, newest first."""

    run: Run
    episodes: Sequence[Episode]


class EpisodicMemory:
    """Begins and ends runs of one tenant, and writes and reads their episodes.

    ``only_agent`` is the only agent whose data a caller may reach; None: the caller may reach the data of all of the
    tenant's agents. Data of another agent are not found. Every method may also raise ``Unavailable``: the database does
    not answer. It is unknown then whether a write was made, so the caller makes it again.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        self._statements = Episodic(backends.tenant_id)
        self._large = LargeValues(backends)

    async def begin(self, run: NewRun, *, only_agent: str | None = None) -> Begun:
        """Begin a run, and give it the last episodes of its agent type. The same run again gets the same answer.

        Raises:
            Conflict: another run has this id; or ``Erasing``: the run's agent, or its parent's agent, is being erased.
            NotFound: the tenant, or with ``only_agent`` this agent, does not have the parent run.
            RunEnded: the parent run has ended.
            QuotaExceeded: the tenant has as many runs as it may keep, the parent run has as many runs above or below it
                as it may, or a large input is over the tenant's limits of blobs.
            ContentTooLarge: the input is large, and there is no object store.
        """
        run = await self._backends.screened(run)
        now = self._backends.clock()
        run_id = run.run_id or str(ULID.from_datetime(moment(now)))
        async with self._large.kept(run.agent_id, "input", to_json(run.input)) as kept:
            statements = [
                self._statements.admit_run(run_id, run, only_agent),
                self._statements.begin(run_id, run, only_agent, kept=kept.text, input_blob=kept.blob_id),
                self._statements.run(run_id, run.agent_id),
                self._statements.given(run_id, run.agent_id),
            ]
            *_, found, given = await self._write(
                Scope(self._backends.tenant_id, run.agent_id), statements, run_id=run_id
            )
        begun = read_rows(Run, found)
        if begun and begun[0].parent_run_id != run.parent_run_id:
            raise Conflict.of_field(
                "parent_run_id", "is not the parent of the run of this run_id", "Nothing was changed."
            )
        if not (
            begun
            and begun[0].agent_type == run.agent_type
            and same_json(begun[0].handed_over, run.handed_over)
            and await self._large.same(begun[0].input, begun[0].input_blob, run.input)
        ):
            raise Conflict("The run_id names another run. Nothing was changed; take a new one.")
        return Begun(replace(begun[0], input=run.input), read_rows(Episode, given))

    async def run(self, run_id: str, *, only_agent: str | None = None) -> Run:
        """Return a run with its input and output, however large.

        Raises:
            NotFound: there is no such run; or ``BlobGone``: its input or output is lost.
        """
        run = await self._found(run_id, only_agent)
        return replace(
            run,
            input=await self._large.load(run.input, run.input_blob),
            output=await self._large.load(run.output, run.output_blob),
        )

    async def runs(self, wanted: RunsWanted, *, limit: int, after: ListPosition | None = None) -> ListPage[Run]:
        """Return the next runs, newest first; in place of large inputs and outputs they have pointers."""
        limits.check(("limit", limits.LIST_LIMIT, limit))
        (rows,) = await self._database.run([self._statements.runs(wanted, limit=limit + 1, after=after)])
        return list_page(Run, rows, limit)

    async def append(
        self, run_id: str, episodes: Sequence[NewEpisode], *, only_agent: str | None = None, warn: Warn | None = None
    ) -> Added:
        """Write episodes of a run, all or none. An episode whose id the run has already stays as it is.

        Raises:
            NotFound: there is no such run.
            RunEnded: the run has ended, and does not have an episode of each id.
            Conflict: an id names an episode of another run; or ``Erasing``: the agent is being erased.
            QuotaExceeded: the tenant may have no more episodes.
        """
        limits.check(("run_id", limits.RUN_ID, run_id))
        if not 1 <= len(episodes) <= limits.MAX_EPISODES_WRITTEN:
            raise InvalidRequest.of_field("episodes", f"must be 1 to {limits.MAX_EPISODES_WRITTEN} episodes")
        episodes = await self._backends.screened(episodes, "episodes")
        named = self._named(episodes)
        most = self._backends.limits.tenant_episodes
        statements = [
            self._statements.admit(run_id, only_agent, ids=list(named), most=most),
            self._statements.append(run_id, named),
            self._statements.warn(_warn_from(most)),
            self._statements.count(),
        ]
        _, written, near, (count,) = await self._write(
            owner_of(self._backends.tenant_id, only_agent), statements, run_id=run_id
        )
        self._tell(near, count, warn)
        return Added(len(written), len(episodes) - len(written))

    async def complete(self, run_id: str, output: Json, *, only_agent: str | None = None) -> Run:
        """End a run with its output. The same call again gets the same answer.

        Raises:
            NotFound: there is no such run.
            RunEnded: the run has failed, or has completed with another output.
            Erasing: the agent is being erased.
            QuotaExceeded, ContentTooLarge: as ``begin`` says of the input.
        """
        limits.check(("output", limits.RUN_VALUE, output))
        output = await self._backends.screened(output, "output")
        text = to_json(output)
        agent_id = (await self._found(run_id, only_agent)).agent_id if is_large(text) else ""
        async with self._large.kept(agent_id, "output", text) as kept:
            run = await self._end(run_id, "completed", only_agent, output=None if output is None else kept)
        if run.status != "completed" or not await self._large.same(run.output, run.output_blob, output):
            raise _ended(run)
        return replace(run, output=output)

    async def fail(self, run_id: str, error: str, *, only_agent: str | None = None) -> Run:
        """End a run with an error, under the rules of ``complete``."""
        limits.check(("error", limits.RUN_ERROR, error))
        error = await self._backends.screened(error, "error")
        run = await self._end(run_id, "failed", only_agent, error=error)
        if run.status != "failed" or run.error != error:
            raise _ended(run)
        return run

    async def episodes(
        self, wanted: EpisodesWanted, *, limit: int, after: ListPosition | None = None
    ) -> ListPage[Episode]:
        """Return the next episodes, newest first."""
        limits.check(("limit", limits.LIST_LIMIT, limit))
        (rows,) = await self._database.run([self._statements.episodes(wanted, limit=limit + 1, after=after)])
        return list_page(Episode, rows, limit)

    async def _found(self, run_id: str, only_agent: str | None) -> Run:
        limits.check(("run_id", limits.RUN_ID, run_id))
        (rows,) = await self._database.run([self._statements.run(run_id, only_agent)])
        if not rows:
            raise NotFound(_NO_RUN)
        return read_rows(Run, rows)[0]

    async def _end(
        self,
        run_id: str,
        status: RunStatus,
        only_agent: str | None,
        *,
        output: StoredValue | None = None,
        error: str | None = None,
    ) -> Run:
        limits.check(("run_id", limits.RUN_ID, run_id))
        text, blob_id = (None, None) if output is None else (output.text, output.blob_id)
        statements = [
            self._statements.admit(run_id, only_agent),
            self._statements.end(run_id, status, output=text, output_blob=blob_id, error=error),
            self._statements.run(run_id, only_agent),
        ]
        *_, rows = await self._write(owner_of(self._backends.tenant_id, only_agent), statements, run_id=run_id)
        return read_rows(Run, rows)[0]

    async def _write(
        self, scope: Scope | Tenant, statements: Sequence[ScopedStatement], *, run_id: str
    ) -> list[list[Row]]:
        """Run the statements, and raise the error that a refusal by the schema means (``schema.sql``)."""
        refusals: Refusals = {
            "no_run": lambda _: NotFound(_NO_RUN),
            "taken": lambda _: Conflict("An episode_id names an episode of another run. Nothing was written."),
            "ended": lambda _: RunEnded("The run has ended: it takes no more episodes. Nothing was written."),
            "runs_full": lambda _: _full("runs", limits.MAX_RUNS, limits.MAX_RUNS),
            "episodes_full": self._episodes_full,
            **_NO_CHILD,
        }
        async with errors_of(refusals):
            return await write(self._backends, scope, statements, run_id=run_id)

    async def _episodes_full(self, _: str) -> QuotaExceeded:
        ((count,),) = await self._database.run([self._statements.count()])
        return _full("episodes", int(count["episodes"] or 0), self._backends.limits.tenant_episodes)

    def _named(self, episodes: Sequence[NewEpisode]) -> Mapping[str, NewEpisode]:
        """Return the episodes by their ids. Ids that are made here ascend, so the episodes keep the order given."""
        # An id has 48 bits of time, 72 random bits and 8 bits of the place: two requests never make the same id.
        first = self._backends.clock() << 80 | secrets.randbits(72) << 8
        named: dict[str, NewEpisode] = {}
        for place, episode in enumerate(episodes):
            named.setdefault(episode.episode_id or str(ULID.from_int(first + place)), episode)
        return named

    def _tell(self, near: Sequence[Row], count: Row, warn: Warn | None) -> None:
        """Warn of a limit that is near: the caller each time, the operator once a day."""
        used, most = int(count["episodes"] or 0), self._backends.limits.tenant_episodes
        if near:
            structlog.get_logger().warning(
                "episodes_near_limit", tenant=self._backends.tenant_id, episodes=used, limit=most
            )
            self._backends.limits.episodes_near_limit()
        if warn is not None and used >= WARN_FROM * most:
            warn([Use("episodes", "tenant", used, most)])


def _warn_from(most: int) -> int:
    """Return the least number of episodes from which on the limit counts as near."""
    return math.ceil(most * WARN_FROM)


def _beyond(detail: str, what: str, most: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"{detail.format(most)} Nothing was begun.", reached=f"{what};scope=run;used={most};limit={most}"
    )


def _ended(run: Run) -> RunEnded:
    return RunEnded(f"The run has ended otherwise: it has {run.status}. Nothing was changed.")


def _full(what: str, used: int, limit: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"This is over the tenant's limit of {limit} {what}, of which {used} are used. Nothing was written. "
        "memory-gateway prune deletes what is too old.",
        reached=f"{what};scope=tenant;used={used};limit={limit}",
    )


_NO_CHILD: Refusals = {
    "no_parent": lambda _: NotFound(_NO_RUN, errors=[FieldError("parent_run_id", "names no such run")]),
    "parent_ended": lambda _: RunEnded.of_field("parent_run_id", "names a run that has ended", "Nothing was begun."),
    "too_deep": lambda _: _beyond("At most {} runs are above a run.", "run_depth", limits.MAX_RUN_DEPTH),
    "children_full": lambda _: _beyond("A run delegates at most {} runs.", "run_children", limits.MAX_RUN_CHILDREN),
}
"""The errors of a run that may not have the parent it names, by the schema's reasons."""
