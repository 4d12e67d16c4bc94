"""Statements that keep and count the tool calls of runs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.domain.audit import ToolCall
from app.domain.author import Author
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW
from app.storage.declared import insert, names_of
from app.storage.scoped import ScopedStatement
from app.storage.tiers.run_log import note_calls
from app.storage.tiers.runs import OF_WRITTEN_RUN, agent_of_run

_CALL = "call.tenant_id = ?1 ->> 'tenant_id' AND call.run_id = ?1 ->> 'run_id'"
_LAST = f"SELECT call.{{column}} FROM tool_call_log AS call WHERE {_CALL} ORDER BY call.number DESC LIMIT 1"
# The number and the time of a call never go back with the clock, so that calls keep the order of their arrival.
_RECORD = insert(
    "tool_call_log",
    "",
    f"""FROM agent_runs AS run CROSS JOIN json_each(?1, '$.calls') AS sent
WHERE {OF_WRITTEN_RUN}
  AND NOT EXISTS (SELECT 1 FROM tool_call_log AS call WHERE {_CALL} AND call.id = sent.value ->> 'id')
RETURNING id""",
    **{name: f"sent.value ->> '{name}'" for name in names_of(ToolCall)},
    run_id="run.id",
    agent_id="run.agent_id",
    number=f"coalesce(({_LAST.format(column='number')}), 0) + row_number() OVER (ORDER BY sent.key)",
    recorded_at=f"max({NOW}, coalesce(({_LAST.format(column='recorded_at')}), 0))",
    written_by="?1 ->> 'by'",
    after_end="run.status <> 'running'",
)
_COUNT = f"SELECT count(*) AS calls FROM tool_call_log AS call WHERE {_CALL}"


@dataclass(frozen=True, slots=True)
class RunTrail:
    """Statements over the tool calls of a tenant's runs or, for an agent, over those of its runs alone."""

    owner: Scope | Tenant

    def record(self, run_id: str, calls: Sequence[ToolCall], author: Author) -> list[ScopedStatement]:
        """Write the calls that are not there yet, and note them in the run's log.

        The second statement returns the ``id`` of each call that it has written, the last no row where there is no such
        run. Made again, the statements write nothing more. The run of the database is refused with ``tool_calls`` where
        the run would have too many calls.
        """
        sent: list[Json] = [asdict(call) for call in calls]
        return [
            note_calls(self.owner, run_id, {call.id: call.entry for call in calls}),
            ScopedStatement.write(self.owner, _RECORD, calls=sent, by=author.credential_id, run_id=run_id),
            agent_of_run(self.owner, run_id),
        ]

    def count(self, run_id: str) -> ScopedStatement:
        """Count the calls of a run: one row with ``calls``."""
        return ScopedStatement.read(self.owner, _COUNT, run_id=run_id)
