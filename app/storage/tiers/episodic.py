"""Statements over the runs of one tenant, and over the episodes that happened in them.

The rows of runs and episodes are read as ``Run`` and ``Episode`` (``app.domain.episodes``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from app.domain import limits
from app.domain.episodes import Episode, EpisodesWanted, NewEpisode, NewRun, Run, RunStatus, RunsWanted
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, Tenant, owner_of
from app.ports.database import NOW
from app.storage.declared import PagedTable, behind, columns_of, insert
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import OF_RUN, OF_WRITTEN_RUN

_DAY_MS = 24 * 3600 * 1000

_ADMIT = insert(
    "run_write",
    "agent_id most_episodes",
    run_id=f"(SELECT run.id FROM agent_runs AS run WHERE {OF_WRITTEN_RUN})",
    begins="0",
    episode_ids="?1 -> 'episode_ids'",
)
_ADMIT_RUN = insert("run_write", "agent_id run_id most_runs", begins="1", episode_ids="'[]'")
# The depth is the number of runs above the new one: its parent, and those above the parent.
_ADMIT_CHILD = insert(
    "run_write",
    "agent_id run_id most_runs parent_run_id parent_agent_id most_depth most_children",
    begins="1",
    episode_ids="'[]'",
    depth="""(
  WITH RECURSIVE above(id, depth) AS (
    SELECT ?1 ->> 'parent_run_id', 1
    UNION ALL
    SELECT run.parent_run_id, above.depth + 1 FROM above CROSS JOIN agent_runs AS run
    WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = above.id AND run.parent_run_id IS NOT NULL
      AND above.depth <= ?1 ->> 'most_depth'
  )
  SELECT max(above.depth) FROM above
)""",
)
_INPUT = {"input": "run.input -> '$.input'", "episode_ids": "coalesce(run.input -> '$.episode_ids', '[]')"}
_RUNS = PagedTable(
    table="agent_runs AS run",
    columns=columns_of(Run, "run", **_INPUT, handed_over=""),
    at="run.started_at",
    tie="run.id",
    indexes={
        ("parent_run_id",): "agent_runs_of_parent",
        ("agent_id",): "agent_runs_of_agent",
        ("agent_type",): "agent_runs_of_type",
        ("status",): "agent_runs_of_status",
        (): "agent_runs_newest",
    },
    where={
        "started_after": "run.started_at > ?1 ->> 'started_after'",
        "started_before": "run.started_at < ?1 ->> 'started_before'",
    },
)
_EPISODES = PagedTable(
    table="memory_episodes AS episode",
    columns=columns_of(Episode, "episode"),
    at="episode.created_at",
    tie="episode.id",
    indexes={
        ("run_id",): "memory_episodes_of_run",
        ("agent_id", "agent_type"): "memory_episodes_of_agent_type",
        ("agent_id",): "memory_episodes_of_agent",
        ("agent_type",): "memory_episodes_of_type",
        (): "memory_episodes_newest",
    },
)
_ONE = f"""
SELECT {columns_of(Run, "run", **_INPUT, handed_over="run.input -> '$.handed_over'")} FROM agent_runs AS run
WHERE {OF_RUN}
"""
# The episodes that are logged with the input are those that the answer reads, in the same run of the database.
_LOGGED_INPUT = """'{{"input":' || (?1 ->> 'input') || ',"episode_ids":' || (
    SELECT json_group_array(id) FROM ({given})
  ) || iif(?1 ->> 'handed_over' IS NULL, '', ',"handed_over":' || (?1 ->> 'handed_over')) || '}}'"""
_GIVEN = f"""
SELECT {_EPISODES.columns}
FROM agent_runs AS run CROSS JOIN json_each(run.input, '$.episode_ids') AS given CROSS JOIN memory_episodes AS episode
WHERE {OF_RUN} AND episode.tenant_id = ?1 ->> 'tenant_id'
  AND episode.id = given.value ORDER BY given.key
"""
_OF_OTHERS = """
SELECT run.id FROM json_each(?1, '$.ids') AS wanted CROSS JOIN agent_runs AS run
WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = wanted.value AND run.agent_id <> ?1 ->> 'agent_id'
"""
_APPEND = insert(
    "memory_episodes",
    "run_id",
    f"""FROM agent_runs AS run CROSS JOIN json_each(?1, '$.written') AS episode
WHERE {OF_RUN} AND run.status = 'running'
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id""",
    agent_id="run.agent_id",
    agent_type="run.agent_type",
    **{name: f"episode.value ->> '{name}'" for name in ("id", "type", "content", "data")},
    occurred_at=f"coalesce(episode.value ->> 'occurred_at', {NOW})",
    created_at=NOW,
)
# The database decides which replica warns: a single one of all, once a day.
_WARN = f"""
UPDATE episodic_count SET warned_day = {NOW} / {_DAY_MS}
WHERE tenant_id = ?1 ->> 'tenant_id' AND episodes >= ?1 ->> 'warn_from' AND warned_day < {NOW} / {_DAY_MS}
RETURNING episodes
"""
_COUNT = """
SELECT coalesce(sum(held.runs), 0) AS runs, coalesce(sum(held.episodes), 0) AS episodes FROM episodic_count AS held
WHERE held.tenant_id = ?1 ->> 'tenant_id'
"""
_END = f"""
UPDATE agent_runs AS run SET status = ?1 ->> 'status', output = ?1 ->> 'output',
  output_blob = ?1 ->> 'output_blob', error = ?1 ->> 'error',
  ended_at = max({NOW}, run.started_at)
WHERE {OF_RUN} AND run.status = 'running'
"""


@dataclass(frozen=True, slots=True)
class Episodic:
    """Statements of one tenant. The tenant is bound here, once."""

    tenant_id: str

    def admit_run(self, run_id: str, run: NewRun, only_agent: str | None) -> ScopedStatement:
        """Refuse the run of the database where a run may not begin; a run that is there may begin again.

        The reasons are ``runs_full``, and because of its parent ``no_parent`` (with ``only_agent`` also for another
        agent's run), ``parent_ended``, ``too_deep``, ``children_full`` and ``erasing``.
        """
        scope = Scope(self.tenant_id, run.agent_id)
        if run.parent_run_id is None:
            return ScopedStatement.write(scope, _ADMIT_RUN, run_id=run_id, most_runs=limits.MAX_RUNS)
        return ScopedStatement.write(
            scope,
            _ADMIT_CHILD,
            run_id=run_id,
            most_runs=limits.MAX_RUNS,
            parent_run_id=run.parent_run_id,
            parent_agent_id=only_agent,
            most_depth=limits.MAX_RUN_DEPTH,
            most_children=limits.MAX_RUN_CHILDREN,
        )

    def begin(
        self, run_id: str, run: NewRun, only_agent: str | None, *, kept: str, input_blob: str | None
    ) -> ScopedStatement:
        """Begin a run, unless there is one of this id, and log which episodes it is given: of ``only_agent``, or all.

        ``kept`` is the run's input as JSON or, where the input is a blob, the pointer to it.
        """
        of_agent = [] if only_agent is None else ["agent_id"]
        given = replace(_EPISODES, columns="episode.id").select([*of_agent, "agent_type"])
        return ScopedStatement.write(
            Scope(self.tenant_id, run.agent_id),
            insert(
                "agent_runs",
                "agent_id agent_type input_blob parent_run_id",
                "WHERE TRUE ON CONFLICT (tenant_id, id) DO NOTHING",
                id="?1 ->> 'run_id'",
                status="'running'",
                input=_LOGGED_INPUT.format(given=given),
                started_at=NOW,
            ),
            run_id=run_id,
            agent_type=run.agent_type,
            input=kept,
            input_blob=input_blob,
            limit=run.episodes,
            parent_run_id=run.parent_run_id,
            handed_over=None if run.handed_over is None else to_json(run.handed_over),
        )

    def given(self, run_id: str, agent_id: str) -> ScopedStatement:
        """Read those episodes given to a run that are still there, newest first."""
        return ScopedStatement.read(Scope(self.tenant_id, agent_id), _GIVEN, run_id=run_id)

    def of_others(self, ids: Sequence[str], agent_id: str) -> ScopedStatement:
        """Read the ``id`` of each of these runs that belongs to another agent."""
        return ScopedStatement.read(Scope(self.tenant_id, agent_id), _OF_OTHERS, ids=list(ids))

    def run(self, run_id: str, only_agent: str | None) -> ScopedStatement:
        """Read a run: no row where there is none, or it belongs to another agent than ``only_agent``."""
        return ScopedStatement.read(owner_of(self.tenant_id, only_agent), _ONE, run_id=run_id)

    def admit(
        self, run_id: str, only_agent: str | None, *, ids: Sequence[str] = (), most: int | None = None
    ) -> ScopedStatement:
        """Refuse the run of the database where a run, or these episodes in it, may not be written.

        The reasons are ``no_run``, ``erasing``, ``taken`` (an id is another run's), ``ended`` and ``episodes_full``.
        """
        return ScopedStatement.write(
            owner_of(self.tenant_id, only_agent), _ADMIT, run_id=run_id, episode_ids=list(ids), most_episodes=most
        )

    def append(self, run_id: str, episodes: Mapping[str, NewEpisode]) -> ScopedStatement:
        """Write the episodes of these ids that are not there yet; returns a row for each that was written."""
        written: list[Json] = [
            {**asdict(episode), "id": id_, "data": to_json(episode.data)} for id_, episode in episodes.items()
        ]
        return ScopedStatement.write(self._tenant, _APPEND, run_id=run_id, written=written)

    def warn(self, warn_from: int) -> ScopedStatement:
        """Return a row, once a day (UTC), where the tenant has ``warn_from`` episodes or more."""
        return ScopedStatement.write(self._tenant, _WARN, warn_from=warn_from)

    def count(self) -> ScopedStatement:
        """Read how many runs and episodes the tenant has: one row."""
        return ScopedStatement.read(self._tenant, _COUNT)

    def end(
        self, run_id: str, status: RunStatus, *, output: str | None, output_blob: str | None, error: str | None
    ) -> ScopedStatement:
        """End a run that is running; ``output`` is JSON or, where the output is a blob, the pointer to it."""
        return ScopedStatement.write(
            self._tenant, _END, run_id=run_id, status=status, output=output, output_blob=output_blob, error=error
        )

    def runs(self, wanted: RunsWanted, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next runs, newest first."""
        return _RUNS.read(owner_of(self.tenant_id, wanted.agent_id), wanted, limit=limit, after=after)

    def episodes(self, wanted: EpisodesWanted, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next episodes, newest first."""
        scope = owner_of(self.tenant_id, wanted.agent_id)
        if wanted.run_id is None:
            return _EPISODES.read(scope, wanted, limit=limit, after=after)
        # All episodes of a run have its agent and agent type: these are checked once, on the run.
        of_type = "" if wanted.agent_type is None else "AND run.agent_type = ?1 ->> 'agent_type'"
        run = f"EXISTS (SELECT 1 FROM agent_runs AS run WHERE {OF_RUN} {of_type})"
        return ScopedStatement.read(
            scope,
            _EPISODES.select(["run_id"], run, after=after),
            agent_type=wanted.agent_type,
            run_id=wanted.run_id,
            limit=limit,
            **behind(after),
        )

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)
