"""The statement that reads the steps of a run: tool calls, episodes, children, and the recalls that named the run.

The steps are read in one order of time, of the database's clock, in pages. A row that is written once a run has ended
does not come into the replay: episodes are refused then, tool calls are marked, and recalls have a later time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from app.domain.audit import ChildRun, LoggedCall, LoggedRecall, Step, StepKind
from app.domain.episodes import Episode
from app.domain.memory import Scope, Tenant
from app.ports.database import Row
from app.storage.declared import names_of
from app.storage.listing import ListPosition
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import OF_RUN

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""The bytes of inputs, outputs and contents that a page has at most: a page with more ends early."""

BEGUN, UNDER_WAY, ENDED = "0", "1", "2"
"""The beginning of a position's id in a replay: behind the start of the run, within the run, or behind its end."""

_OF_AGENT = "(?1 ->> 'agent_id' IS NULL OR step.agent_id = ?1 ->> 'agent_id')"


@dataclass(frozen=True, slots=True)
class _StepTable:
    """The table of one kind of step.

    Attributes:
        kind: The kind, as ``StepKind`` has it.
        table: The table, which the expressions below call ``step``.
        index: The index that has the rows of a run in their order of time.
        at: The time of a step, in ms.
        order: The column that orders the steps of one moment.
        tie: A text in that order, unique over all kinds.
        size: How many bytes a step adds to its page.
        columns: The columns that are read; each kind has NULL in those of the others.
        condition: Which rows of the run are steps of the replay.
        of: The column that names the run.
    """

    kind: str
    table: str
    index: str
    at: str
    order: str
    tie: str
    size: str
    columns: tuple[str, ...]
    condition: str = ""
    of: str = "run_id"


_BEFORE_THE_END = """AND {at} <= coalesce((SELECT run.ended_at FROM agent_runs AS run
  WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'), {at})"""
_SOURCES = (
    _StepTable(
        kind="tool_call",
        table="tool_call_log",
        index="tool_call_log_of_run",
        at="step.recorded_at",
        order="step.number",
        tie="'t' || printf('%05d', step.number)",
        size="coalesce(length(CAST(step.input AS BLOB)), 0) + coalesce(length(CAST(step.output AS BLOB)), 0)",
        columns=names_of(LoggedCall),
        condition="AND step.after_end = 0",
    ),
    _StepTable(
        kind="episode",
        table="memory_episodes",
        index="memory_episodes_of_run",
        at="step.created_at",
        order="step.id",
        tie="'e' || step.id",
        size="length(CAST(step.content AS BLOB)) + length(CAST(step.data AS BLOB))",
        columns=names_of(Episode),
    ),
    _StepTable(
        kind="recall",
        table="recall_log",
        index="recall_log_of_run",
        at="step.recorded_at",
        order="step.id",
        tie="'r' || step.id",
        size="length(step.detail)",
        columns=names_of(LoggedRecall),
        # A recall names any run it likes, also one that has ended.
        condition=_BEFORE_THE_END.format(at="step.recorded_at"),
    ),
    # A child may end after its parent.
    *(
        _StepTable(
            kind=kind,
            table="agent_runs",
            index="agent_runs_of_parent",
            at=at,
            order="step.id",
            tie=f"'{mark}' || step.id",
            size="0",
            columns=("id", "agent_id", "agent_type", *status),
            condition=_BEFORE_THE_END.format(at=at),
            of="parent_run_id",
        )
        for kind, at, mark, status in (
            ("child_started", "step.started_at", "c", ()),
            ("child_ended", "step.ended_at", "d", ("status",)),
        )
    ),
)
_COLUMNS = tuple(dict.fromkeys(column for source in _SOURCES for column in source.columns))


def _select(source: _StepTable) -> str:
    """Return the statement that selects the next steps of one kind."""
    columns = (f"step.{name}" if name in source.columns else f"NULL AS {name}" for name in _COLUMNS)
    return f"""
SELECT '{source.kind}' AS kind, {source.at} AS at, {source.tie} AS tie, {source.size} AS size, {", ".join(columns)}
FROM {source.table} AS step INDEXED BY {source.index}
WHERE step.tenant_id = ?1 ->> 'tenant_id' AND step.{source.of} = ?1 ->> 'run_id' AND {_OF_AGENT}
  AND {source.at} >= ?1 ->> 'at' AND ({source.at} > ?1 ->> 'at' OR {source.tie} > ?1 ->> 'tie')
  {source.condition}
ORDER BY {source.at}, {source.order} LIMIT ?1 ->> 'limit' + 1
"""


# A caller that may see one agent alone sees no recall of another agent, whichever run the recall has named.
_STEPS = f"""
SELECT * FROM (
  SELECT step.*, row_number() OVER later AS place, sum(step.size) OVER later AS bytes,
    row_number() OVER later < count(*) OVER () AS following
  FROM ({" UNION ALL ".join(f"SELECT * FROM ({_select(source)})" for source in _SOURCES)}) AS step
  WINDOW later AS (ORDER BY step.at, step.tie ROWS UNBOUNDED PRECEDING)
) AS step
WHERE step.place <= ?1 ->> 'limit' AND (step.bytes <= {MAX_PAGE_BYTES} OR step.place = 1)
  AND EXISTS (SELECT 1 FROM agent_runs AS run WHERE {OF_RUN})
ORDER BY step.place
"""


def steps(owner: Scope | Tenant, run_id: str, after: ListPosition, *, limit: int) -> ScopedStatement:
    """Read the next steps of an owner's run behind a position, for ``step_of`` and ``position_of``.

    Each row tells in ``following`` whether more steps come after it. A page may have fewer than ``limit`` all the same.
    """
    return ScopedStatement.read(
        owner, _STEPS, run_id=run_id, at=after.created_at, tie=after.id.removeprefix(UNDER_WAY), limit=limit
    )


_KINDS: Mapping[StepKind, type[LoggedCall | Episode | LoggedRecall | ChildRun]] = {
    "tool_call": LoggedCall,
    "episode": Episode,
    "recall": LoggedRecall,
    "child_started": ChildRun,
    "child_ended": ChildRun,
}


def step_of(row: Row) -> Step:
    """Read a row of ``steps``."""
    kind = cast(StepKind, row["kind"])
    return Step(kind, int(row["at"] or 0), read_row(_KINDS[kind], row))


def position_of(row: Row) -> ListPosition:
    """Return the position right behind a row of ``steps``."""
    return ListPosition(int(row["at"] or 0), f"{UNDER_WAY}{row['tie']}")
