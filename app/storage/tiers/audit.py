"""Statements over the trail of a run: what it has called, and the recalls that have named it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from app.domain.audit import LoggedCall, LoggedRecall, RunState, Step, ToolCall
from app.domain.author import Author
from app.domain.json_types import Json
from app.domain.memory import Tenant
from app.ports.database import NOW, Row
from app.storage.listing import Place
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""Of inputs and outputs: a page with more ends early."""

BEGUN, UNDER_WAY, ENDED = "0", "1", "2"
"""What the id of a place in a replay begins with: steps of the one come before those of the next."""

_OF_AGENT = "(?1 ->> 'only_agent' IS NULL OR {table}.agent_id = ?1 ->> 'only_agent')"
_RUN = f"run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id' AND {_OF_AGENT.format(table='run')}"
_CALL = "call.tenant_id = ?1 ->> 'tenant_id' AND call.run_id = ?1 ->> 'run_id'"
# The gate of all tiers for the run's agent, which the caller does not name.
_GATE = f"""
INSERT INTO tier_write (tenant_id, agent_id, written_by, issued_at)
SELECT run.tenant_id, run.agent_id, ?1 ->> 'by', ?1 ->> 'issued_at' FROM agent_runs AS run WHERE {_RUN}
"""
_LAST = f"SELECT call.{{column}} FROM tool_call_log AS call WHERE {_CALL} ORDER BY call.number DESC LIMIT 1"
# Should the clock have gone back, calls still stand in the order of their arrival.
_RECORD = f"""
INSERT INTO tool_call_log (tenant_id, run_id, number, id, agent_id, tool, input, input_hash, outcome, error, output, ms,
  tokens, called_at, recorded_at, written_by)
SELECT run.tenant_id, run.id,
  coalesce(({_LAST.format(column="number")}), 0) + row_number() OVER (ORDER BY sent.key),
  sent.value ->> 'id', run.agent_id, sent.value ->> 'tool', sent.value ->> 'input', sent.value ->> 'input_hash',
  sent.value ->> 'outcome', sent.value ->> 'error', sent.value ->> 'output', sent.value ->> 'ms',
  sent.value ->> 'tokens', sent.value ->> 'called_at',
  max({NOW}, coalesce(({_LAST.format(column="recorded_at")}), 0)), ?1 ->> 'by'
FROM agent_runs AS run CROSS JOIN json_each(?1, '$.calls') AS sent
WHERE {_RUN} AND NOT EXISTS (SELECT 1 FROM tool_call_log AS call WHERE {_CALL} AND call.id = sent.value ->> 'id')
RETURNING id
"""
_IS_RUN = f"SELECT run.agent_id FROM agent_runs AS run WHERE {_RUN}"
_COUNT = f"SELECT count(*) AS calls FROM tool_call_log AS call WHERE {_CALL}"
_STATE = f"""
SELECT run.id, run.agent_id, run.agent_type, run.status, run.started_at, run.input -> '$.input' AS input,
  coalesce(run.input -> '$.episode_ids', '[]') AS episode_ids, run.output, run.error, run.workflow_id, run.ended_at
FROM agent_runs AS run WHERE {_RUN}
"""


def _behind(at: str, tie: str) -> str:
    return f"{at} >= ?1 ->> 'at' AND ({at} > ?1 ->> 'at' OR {tie} > ?1 ->> 'tie')"


_TIE_OF_CALL = "'t' || printf('%05d', call.number)"
_TIE_OF_RECALL = "'r' || recall.id"
_CALLS = f"""
SELECT 'tool_call' AS kind, call.recorded_at AS at, {_TIE_OF_CALL} AS tie,
  coalesce(length(CAST(call.input AS BLOB)), 0) + coalesce(length(CAST(call.output AS BLOB)), 0) AS size,
  call.id, call.agent_id, call.number, call.tool, call.input, call.input_hash, call.outcome, call.error, call.output,
  call.ms, call.tokens, call.called_at, NULL AS detail
FROM tool_call_log AS call INDEXED BY tool_call_log_of_run
WHERE {_CALL} AND {_behind("call.recorded_at", _TIE_OF_CALL)}
ORDER BY call.recorded_at, call.number LIMIT ?1 ->> 'limit' + 1
"""
_RECALLS = f"""
SELECT 'recall', recall.recorded_at, {_TIE_OF_RECALL}, length(recall.detail),
  recall.id, recall.agent_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, recall.detail
FROM recall_log AS recall INDEXED BY recall_log_of_run
WHERE recall.tenant_id = ?1 ->> 'tenant_id' AND recall.run_id = ?1 ->> 'run_id'
  AND {_OF_AGENT.format(table="recall")} AND {_behind("recall.recorded_at", _TIE_OF_RECALL)}
ORDER BY recall.recorded_at, recall.id LIMIT ?1 ->> 'limit' + 1
"""
# A caller that may see one agent alone sees no recall of another one, whichever run that has named.
_STEPS = f"""
SELECT * FROM (
  SELECT step.*, row_number() OVER later AS place, sum(step.size) OVER later AS bytes,
    row_number() OVER later < count(*) OVER () AS following
  FROM (SELECT * FROM ({_CALLS}) UNION ALL SELECT * FROM ({_RECALLS})) AS step
  WINDOW later AS (ORDER BY step.at, step.tie ROWS UNBOUNDED PRECEDING)
) AS step
WHERE step.place <= ?1 ->> 'limit' AND (step.bytes <= {MAX_PAGE_BYTES} OR step.place = 1)
  AND EXISTS (SELECT 1 FROM agent_runs AS run WHERE {_RUN})
ORDER BY step.place
"""


@dataclass(frozen=True, slots=True)
class RunTrail:
    """Statements over the trails of one tenant's runs; with ``only_agent``, over those of this agent's runs alone."""

    tenant_id: str
    only_agent: str | None

    def record(self, run_id: str, calls: Sequence[ToolCall], author: Author) -> list[ScopedStatement]:
        """Keep the calls that are not there yet. Of the rows, those of the last but one have the ``id`` of each.

        Those of the last are empty where there is no such run. Made again, it keeps nothing more. The run of the
        database is refused with ``tool_calls`` where the run would have too many.
        """
        sent: list[Json] = [asdict(call) for call in calls]
        write = partial(
            ScopedStatement.write,
            Tenant(self.tenant_id),
            run_id=run_id,
            only_agent=self.only_agent,
            by=author.credential_id,
            issued_at=author.issued_at,
        )
        return [
            write(_GATE),
            write(_RECORD, calls=sent),
            ScopedStatement.read(Tenant(self.tenant_id), _IS_RUN, **self._of(run_id)),
        ]

    def count(self, run_id: str) -> ScopedStatement:
        """Count the calls of a run: one row with ``calls``."""
        return ScopedStatement.read(Tenant(self.tenant_id), _COUNT, **self._of(run_id))

    def state(self, run_id: str) -> ScopedStatement:
        """Read a run, as a row of ``RunState``; none where there is no such run."""
        return ScopedStatement.read(Tenant(self.tenant_id), _STATE, **self._of(run_id))

    def steps(self, run_id: str, after: Place, *, limit: int) -> ScopedStatement:
        """Read the next tool calls and recalls of a run in their one order, for ``step_of`` and ``place_of``.

        Each row tells in ``following`` whether more come after it. There may be fewer than ``limit`` all the same.
        """
        place: dict[str, Json] = {"at": after.created_at, "tie": after.id[1:]}
        return ScopedStatement.read(Tenant(self.tenant_id), _STEPS, **self._of(run_id), **place, limit=limit)

    def _of(self, run_id: str) -> dict[str, Json]:
        return {"run_id": run_id, "only_agent": self.only_agent}


def run_state(row: Row) -> RunState:
    """Read the row of a run."""
    return read_row(RunState, row)


def step_of(row: Row) -> Step:
    """Read a row of ``RunTrail.steps``."""
    if row["kind"] == "recall":
        return Step("recall", int(row["at"] or 0), read_row(LoggedRecall, row))
    return Step("tool_call", int(row["at"] or 0), read_row(LoggedCall, row))


def place_of(row: Row) -> Place:
    """Return the place right behind a row of ``RunTrail.steps``."""
    return Place(int(row["at"] or 0), f"{UNDER_WAY}{row['tie']}")
