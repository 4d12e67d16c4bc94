"""Statements over the runs of one tenant, and over the episodes that happened in them.

The rows of runs and episodes are read as ``Run`` and ``Episode`` (``app.domain.episodes``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.episodes import EpisodesWanted, NewEpisode, NewRun, RunStatus, RunsWanted
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement

_DAY_MS = 24 * 3600 * 1000

_ADMIT = """
INSERT INTO run_write (tenant_id, agent_id, run_id, begins, most_runs, most_episodes, episode_ids)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'run_id', coalesce(?1 ->> 'begins', 0), ?1 ->> 'most_runs',
  ?1 ->> 'most_episodes', coalesce(?1 -> 'episode_ids', '[]')
"""
# As many runs are above it as its parent has above itself, and the parent.
_ADMIT_CHILD = """
INSERT INTO run_write (tenant_id, agent_id, run_id, begins, most_runs, episode_ids, parent_run_id, parent_agent_id,
  depth, most_depth, most_children)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'run_id', 1, ?1 ->> 'most_runs', '[]', ?1 ->> 'parent_run_id',
  ?1 ->> 'parent_agent_id', (
    WITH RECURSIVE above(id, depth) AS (
      SELECT ?1 ->> 'parent_run_id', 1
      UNION ALL
      SELECT run.parent_run_id, above.depth + 1 FROM above CROSS JOIN agent_runs AS run
      WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = above.id AND run.parent_run_id IS NOT NULL
        AND above.depth <= ?1 ->> 'most_depth'
    )
    SELECT max(above.depth) FROM above
  ), ?1 ->> 'most_depth', ?1 ->> 'most_children'
"""
_HANDED_OVER = "run.input -> '$.handed_over' AS handed_over"
_RUN = """
SELECT run.id, run.agent_id, run.agent_type, run.status, run.input -> '$.input' AS input,
  run.input -> '$.episode_ids' AS episode_ids, run.output, run.error, run.workflow_id, run.started_at, run.ended_at,
  run.input_blob, run.output_blob, run.parent_run_id{more}
FROM agent_runs AS run
"""
_COLUMNS = """
SELECT episode.id, episode.run_id, episode.agent_id, episode.agent_type, episode.type, episode.content, episode.data,
  episode.occurred_at, episode.created_at
"""
_EPISODE = f"{_COLUMNS} FROM memory_episodes AS episode"
_OF_RUN = "run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'"
_ONE = f"""
{_RUN.format(more=", " + _HANDED_OVER)}
WHERE {_OF_RUN} AND (?1 ->> 'agent_id' IS NULL OR run.agent_id = ?1 ->> 'agent_id')
"""
_NEWEST_EPISODES = "ORDER BY episode.created_at DESC, episode.id DESC"
_NEWEST_RUNS = "ORDER BY run.started_at DESC, run.id DESC"
# What is logged with the input is what the answer reads, in the same run of the database.
_BEGIN = """
INSERT INTO agent_runs (tenant_id, id, agent_id, agent_type, status, input_blob, input, started_at, parent_run_id)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'run_id', ?1 ->> 'agent_id', ?1 ->> 'agent_type', 'running',
  ?1 ->> 'input_blob', '{{"input":' || (?1 ->> 'input') || ',"episode_ids":' || (
    SELECT json_group_array(id) FROM (
      SELECT episode.id FROM memory_episodes AS episode INDEXED BY {index} WHERE {where}
      ORDER BY episode.created_at DESC, episode.id DESC LIMIT ?1 ->> 'episodes'
    )
  ) || iif(?1 ->> 'handed_over' IS NULL, '', ',"handed_over":' || (?1 ->> 'handed_over')) || '}}', {now},
  ?1 ->> 'parent_run_id'
WHERE TRUE ON CONFLICT (tenant_id, id) DO NOTHING
"""
_GIVEN = f"""
{_COLUMNS}
FROM agent_runs AS run CROSS JOIN json_each(run.input, '$.episode_ids') AS given CROSS JOIN memory_episodes AS episode
WHERE {_OF_RUN} AND run.agent_id = ?1 ->> 'agent_id' AND episode.tenant_id = ?1 ->> 'tenant_id'
  AND episode.id = given.value ORDER BY given.key
"""
_OF_OTHERS = """
SELECT run.id FROM json_each(?1, '$.ids') AS wanted CROSS JOIN agent_runs AS run
WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = wanted.value AND run.agent_id <> ?1 ->> 'agent_id'
"""
_APPEND = f"""
INSERT INTO memory_episodes
  (tenant_id, id, run_id, agent_id, agent_type, type, content, data, occurred_at, created_at)
SELECT run.tenant_id, episode.value ->> 0, run.id, run.agent_id, run.agent_type, episode.value ->> 1,
  episode.value ->> 2, episode.value ->> 3, coalesce(episode.value ->> 4, {NOW}), {NOW}
FROM agent_runs AS run CROSS JOIN json_each(?1, '$.written') AS episode
WHERE {_OF_RUN} AND run.status = 'running'
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id
"""
# Decided in the database: of all replicas one is told, once a day.
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
WHERE {_OF_RUN} AND run.status = 'running'
"""


@dataclass(frozen=True, slots=True)
class Episodic:
    """Statements of one tenant. The tenant is bound here, once."""

    tenant_id: str

    def admit_run(self, run_id: str, run: NewRun, only_agent: str | None) -> ScopedStatement:
        """Refuse the run of the database where a run may not begin; one that is there may begin again.

        The reasons are ``runs_full``, and of its parent ``no_parent`` (with ``only_agent`` also another agent's),
        ``parent_ended``, ``too_deep``, ``children_full`` and ``erasing``.
        """
        scope = Scope(self.tenant_id, run.agent_id)
        if run.parent_run_id is None:
            return ScopedStatement.write(scope, _ADMIT, run_id=run_id, begins=True, most_runs=limits.MAX_RUNS)
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
        """Begin a run, unless there is one of this id, and log which episodes it is given: of the one agent, or all.

        ``kept`` is its input as JSON, or where this is a blob, the pointer to it.
        """
        scope = Scope(self.tenant_id, run.agent_id)
        where, index = _conditions(EpisodesWanted(agent_type=run.agent_type, agent_id=only_agent))
        return ScopedStatement.write(
            scope,
            _BEGIN.format(index=index, where=where, now=NOW),
            run_id=run_id,
            agent_type=run.agent_type,
            input=kept,
            input_blob=input_blob,
            episodes=run.episodes,
            parent_run_id=run.parent_run_id,
            handed_over=None if run.handed_over is None else to_json(run.handed_over),
        )

    def given(self, run_id: str, agent_id: str) -> ScopedStatement:
        """Read the episodes that a run was given, those that are still there, newest first."""
        return ScopedStatement.read(Scope(self.tenant_id, agent_id), _GIVEN, run_id=run_id)

    def of_others(self, ids: Sequence[str], agent_id: str) -> ScopedStatement:
        """Read the ``id`` of each of these runs that is another agent's."""
        return ScopedStatement.read(Scope(self.tenant_id, agent_id), _OF_OTHERS, ids=list(ids))

    def run(self, run_id: str, only_agent: str | None) -> ScopedStatement:
        """Read a run: no row where there is none, or it is of another agent than the only one."""
        return ScopedStatement.read(self._scope(only_agent), _ONE, run_id=run_id)

    def admit(
        self, run_id: str, only_agent: str | None, *, ids: Sequence[str] = (), most: int | None = None
    ) -> ScopedStatement:
        """Refuse the run of the database where a run, or these episodes in it, may not be written.

        The reasons are ``no_run``, ``erasing``, ``taken`` (an id is another run's), ``ended`` and ``episodes_full``.
        """
        return ScopedStatement.write(
            self._scope(only_agent), _ADMIT, run_id=run_id, episode_ids=list(ids), most_episodes=most
        )

    def append(self, run_id: str, episodes: Mapping[str, NewEpisode]) -> ScopedStatement:
        """Write the episodes of these ids that are not there yet; returns a row for each that was written."""
        written: list[Json] = [
            [id_, each.type, each.content, to_json(each.data), each.occurred_at] for id_, each in episodes.items()
        ]
        return ScopedStatement.write(self._tenant, _APPEND, run_id=run_id, written=written)

    def warn(self, warn_from: int) -> ScopedStatement:
        """Return a row, once a day (UTC), where the tenant has so many episodes."""
        return ScopedStatement.write(self._tenant, _WARN, warn_from=warn_from)

    def count(self) -> ScopedStatement:
        """Read how many runs and episodes the tenant has: one row."""
        return ScopedStatement.read(self._tenant, _COUNT)

    def end(
        self, run_id: str, status: RunStatus, *, output: str | None, output_blob: str | None, error: str | None
    ) -> ScopedStatement:
        """End a run that is running; ``output`` is JSON or, where it is a blob, the pointer to it."""
        return ScopedStatement.write(
            self._tenant, _END, run_id=run_id, status=status, output=output, output_blob=output_blob, error=error
        )

    def runs(self, wanted: RunsWanted, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next runs, newest first."""
        index = "agent_runs_newest"
        conditions = ["run.tenant_id = ?1 ->> 'tenant_id'"]
        if wanted.status is not None:
            index = "agent_runs_of_status"
            conditions.append("run.status = ?1 ->> 'status'")
        if wanted.agent_type is not None:
            index = "agent_runs_of_type"
            conditions.append("run.agent_type = ?1 ->> 'agent_type'")
        if wanted.agent_id is not None:
            index = "agent_runs_of_agent"
            conditions.append("run.agent_id = ?1 ->> 'agent_id'")
        if wanted.parent_run_id is not None:
            index = "agent_runs_of_parent"
            conditions.append("run.parent_run_id = ?1 ->> 'parent_run_id'")
        if wanted.started_after is not None:
            conditions.append("run.started_at > ?1 ->> 'started_after'")
        if wanted.started_before is not None:
            conditions.append("run.started_at < ?1 ->> 'started_before'")
        if after is not None:
            conditions.append("(run.started_at, run.id) < (?1 ->> 'at', ?1 ->> 'after')")
        return ScopedStatement.read(
            self._scope(wanted.agent_id),
            f"{_RUN.format(more='')} INDEXED BY {index} WHERE {' AND '.join(conditions)} {_NEWEST_RUNS}"
            " LIMIT ?1 ->> 'limit'",
            agent_type=wanted.agent_type,
            status=wanted.status,
            started_after=wanted.started_after,
            started_before=wanted.started_before,
            parent_run_id=wanted.parent_run_id,
            limit=limit,
            **_after(after),
        )

    def episodes(self, wanted: EpisodesWanted, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next episodes, newest first."""
        where, index = _conditions(wanted)
        if after is not None:
            where += " AND (episode.created_at, episode.id) < (?1 ->> 'at', ?1 ->> 'after')"
        return ScopedStatement.read(
            self._scope(wanted.agent_id),
            f"{_EPISODE} INDEXED BY {index} WHERE {where} {_NEWEST_EPISODES} LIMIT ?1 ->> 'limit'",
            agent_type=wanted.agent_type,
            run_id=wanted.run_id,
            limit=limit,
            **_after(after),
        )

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)

    def _scope(self, only_agent: str | None) -> Scope | Tenant:
        return self._tenant if only_agent is None else Scope(self.tenant_id, only_agent)


def _after(after: ListPosition | None) -> dict[str, Json]:
    return {} if after is None else {"at": after.created_at, "after": after.id}


def _conditions(wanted: EpisodesWanted) -> tuple[str, str]:
    """Return the conditions of the episodes that are wanted, and the index that has just those in their order."""
    of_agent, of_type = wanted.agent_id is not None, wanted.agent_type is not None
    if wanted.run_id is not None:
        # All episodes of a run are of its agent: these are asked once, of the run, and not of each episode.
        also = [f"run.{name} = ?1 ->> '{name}'" for name in ("agent_id", "agent_type") if getattr(wanted, name)]
        run = f"EXISTS (SELECT 1 FROM agent_runs AS run WHERE {' AND '.join([_OF_RUN, *also])})"
        where = f"episode.tenant_id = ?1 ->> 'tenant_id' AND episode.run_id = ?1 ->> 'run_id' AND {run}"
        return where, "memory_episodes_of_run"
    conditions = ["episode.tenant_id = ?1 ->> 'tenant_id'"]
    if of_agent:
        conditions.append("episode.agent_id = ?1 ->> 'agent_id'")
    if of_type:
        conditions.append("episode.agent_type = ?1 ->> 'agent_type'")
    indexes = {(False, False): "newest", (True, False): "of_agent", (False, True): "of_type"}
    return " AND ".join(conditions), f"memory_episodes_{indexes.get((of_agent, of_type), 'of_agent_type')}"
