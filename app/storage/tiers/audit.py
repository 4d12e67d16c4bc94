"""Statements over the trail of a run: they keep its tool calls, and read how it began and ended."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.domain.audit import RunState, ToolCall
from app.domain.author import Author
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW, Row
from app.storage.listing import ListPosition
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers import replay
from app.storage.tiers.run_log import note_calls

_RUN = """run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
  AND (?1 ->> 'only_agent' IS NULL OR run.agent_id = ?1 ->> 'only_agent')"""
_CALL = "call.tenant_id = ?1 ->> 'tenant_id' AND call.run_id = ?1 ->> 'run_id'"
_LAST = f"SELECT call.{{column}} FROM tool_call_log AS call WHERE {_CALL} ORDER BY call.number DESC LIMIT 1"
# Should the clock have gone back, calls still stand in the order of their arrival.
_RECORD = f"""
INSERT INTO tool_call_log (tenant_id, run_id, number, id, agent_id, tool, input, input_hash, outcome, error, output, ms,
  tokens, called_at, recorded_at, written_by, after_end)
SELECT run.tenant_id, run.id,
  coalesce(({_LAST.format(column="number")}), 0) + row_number() OVER (ORDER BY sent.key),
  sent.value ->> 'id', run.agent_id, sent.value ->> 'tool', sent.value ->> 'input', sent.value ->> 'input_hash',
  sent.value ->> 'outcome', sent.value ->> 'error', sent.value ->> 'output', sent.value ->> 'ms',
  sent.value ->> 'tokens', sent.value ->> 'called_at',
  max({NOW}, coalesce(({_LAST.format(column="recorded_at")}), 0)), ?1 ->> 'by',
  run.status <> 'running'
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


@dataclass(frozen=True, slots=True)
class RunTrail:
    """Statements over the trails of one tenant's runs; with ``only_agent``, over those of this agent's runs alone."""

    tenant_id: str
    only_agent: str | None

    def record(self, run_id: str, calls: Sequence[ToolCall], author: Author) -> list[ScopedStatement]:
        """Keep the calls that are not there yet, and note them. The rows of the second have the ``id`` of each.

        Those of the last are empty where there is no such run. Made again, it keeps nothing more. The run of the
        database is refused with ``tool_calls`` where the run would have too many.
        """
        sent: list[Json] = [asdict(call) for call in calls]
        tenant = Tenant(self.tenant_id)
        return [
            note_calls(tenant, run_id, {call.id: call.entry for call in calls}, self.only_agent),
            ScopedStatement.write(
                tenant, _RECORD, calls=sent, by=author.credential_id, run_id=run_id, only_agent=self.only_agent
            ),
            ScopedStatement.read(tenant, _IS_RUN, **self._of(run_id)),
        ]

    @property
    def scope(self) -> Scope | Tenant:
        """The agent whose runs they are alone, or the tenant."""
        return Tenant(self.tenant_id) if self.only_agent is None else Scope(self.tenant_id, self.only_agent)

    def count(self, run_id: str) -> ScopedStatement:
        """Count the calls of a run: one row with ``calls``."""
        return ScopedStatement.read(Tenant(self.tenant_id), _COUNT, **self._of(run_id))

    def state(self, run_id: str) -> ScopedStatement:
        """Read a run, as a row of ``RunState``; none where there is no such run."""
        return ScopedStatement.read(Tenant(self.tenant_id), _STATE, **self._of(run_id))

    def steps(self, run_id: str, after: ListPosition, *, limit: int) -> ScopedStatement:
        """Read the next steps of a run, as ``app.storage.tiers.replay.steps`` does."""
        return replay.steps(self.tenant_id, run_id, after, limit=limit, only_agent=self.only_agent)

    def _of(self, run_id: str) -> dict[str, Json]:
        return {"run_id": run_id, "only_agent": self.only_agent}


def run_state(row: Row) -> RunState:
    """Read the row of a run."""
    return read_row(RunState, row)
