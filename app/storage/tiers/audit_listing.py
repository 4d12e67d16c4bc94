"""Statements that list the events of one tenant, newest first: of the table audit, tool calls, recalls, outcomes."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from app.domain.audit import AuditEvent, AuditFilter
from app.domain.memory import Tenant
from app.ports.database import Row
from app.storage.listing import ListPosition
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement


@dataclass(frozen=True, slots=True)
class _EventTable:
    """A table of events.

    Attributes:
        columns: The expressions of event, agent_id, memory_id, run_id, written_by and detail.
        at: The expression of the moment of an event, in ms.
        tie: The expression of a text that orders the events of one moment, and is unique over all sources.
        order: The ORDER BY, newest first.
        indexes: The index to use for each filter, the most selective filter first; "" stands for no filter. The table
            has no events for a filter that is not here.
        events: The names of its events; None: any name that no other source has.
        common: The name that most of its events have; the index for ``event`` leaves these out.
    """

    table: str
    columns: str
    at: str
    tie: str
    order: str
    indexes: dict[str, str]
    events: frozenset[str] | None
    common: str = ""


_EVENTS_OF_RECALLS = frozenset(("recall", "recalls_dropped"))
_SOURCES = (
    _EventTable(
        "audit",
        "each.event, each.agent_id, each.memory_id, NULL AS run_id, each.written_by, each.detail",
        "each.created_at",
        "'a' || printf('%020d', each.number)",
        "each.created_at DESC, each.number DESC",
        {
            "memory_id": "audit_of_memory",
            "written_by": "audit_of_writer",
            "agent_id": "audit_of_agent",
            "event": "audit_rare",
            "": "audit_of_tenant",
        },
        None,
        common="stored",
    ),
    _EventTable(
        "tool_call_log",
        "'tool_call' AS event, each.agent_id, NULL AS memory_id, each.run_id, each.written_by,"
        " json_object('call_id', each.id, 'tool', each.tool, 'input_hash', each.input_hash, 'outcome', each.outcome,"
        " 'error', each.error, 'ms', json(each.ms), 'tokens', each.tokens,"
        " 'after_end', json(iif(each.after_end, 'true', 'false'))) AS detail",
        "each.recorded_at",
        "'t' || each.run_id || printf('%05d', each.number)",
        "each.recorded_at DESC, each.run_id DESC, each.number DESC",
        {
            "run_id": "tool_call_log_of_run",
            "written_by": "tool_call_log_of_writer",
            "agent_id": "tool_call_log_of_agent",
            "": "tool_call_log_newest",
        },
        frozenset(("tool_call",)),
    ),
    _EventTable(
        "recall_log",
        "each.event, iif(each.agent_id = '', NULL, each.agent_id) AS agent_id, NULL AS memory_id, each.run_id,"
        " each.written_by, each.detail",
        "each.recorded_at",
        "'r' || each.id",
        "each.recorded_at DESC, each.id DESC",
        {
            "run_id": "recall_log_of_run",
            "written_by": "recall_log_of_writer",
            "agent_id": "recall_log_of_agent",
            "event": "recall_log_rare",
            "": "recall_log_newest",
        },
        _EVENTS_OF_RECALLS,
        common="recall",
    ),
    _EventTable(
        "workflow_outcome",
        "'outcome' AS event, each.agent_id, NULL AS memory_id, each.run_id, each.written_by,"
        " json_object('workflow_id', each.workflow_id, 'score', each.score, 'through', each.written_through) AS detail",
        "each.created_at",
        # No id has a space, which sorts before all that an id may have.
        "'o' || each.workflow_id || ' ' || each.run_id",
        "each.created_at DESC, each.workflow_id DESC, each.run_id DESC",
        {
            "run_id": "workflow_outcome_of_run",
            "written_by": "workflow_outcome_of_writer",
            "agent_id": "workflow_outcome_of_agent",
            "": "workflow_outcome_newest",
        },
        frozenset(("outcome",)),
    ),
)
_EQUAL = ("agent_id", "memory_id", "run_id", "written_by")


def events(tenant_id: str, where: AuditFilter, *, limit: int, after: ListPosition | None) -> ScopedStatement:
    """Read the next events, newest first, for ``read_events``; right behind a place, or from the newest on."""
    parts = [part for source in _SOURCES if (part := _part(source, where, after)) is not None]
    # Every event belongs to a source, so that there is a part unless two filters leave nothing.
    union = " UNION ALL ".join(f"SELECT * FROM ({part})" for part in parts) or _NOTHING
    return ScopedStatement.read(
        Tenant(tenant_id),
        f"SELECT * FROM ({union}) ORDER BY at DESC, tie DESC LIMIT ?1 ->> 'limit'",
        **asdict(where),
        limit=limit,
        at=None if after is None else after.created_at,
        tie=None if after is None else after.id,
    )


_NOTHING = "SELECT 0 AS at, '' AS tie WHERE ?1 ->> 'tenant_id' IS NULL"


def read_events(rows: list[Row]) -> list[AuditEvent]:
    """Read the rows."""
    return read_rows(AuditEvent, rows)


def place_of(row: Row) -> ListPosition:
    """Return the place right behind an event's row."""
    return ListPosition(int(row["at"] or 0), str(row["tie"]))


def _part(source: _EventTable, where: AuditFilter, after: ListPosition | None) -> str | None:
    """Select a source's events; None where it can have none that is asked for."""
    asked = [name for name in _EQUAL if getattr(where, name) is not None]
    if not source.indexes.keys() >= set(asked) or not _may_have(source, where.event):
        return None
    conditions = ["each.tenant_id = ?1 ->> 'tenant_id'", *(f"each.{name} = ?1 ->> '{name}'" for name in asked)]
    if where.event is not None and "event" in source.indexes:
        conditions.append("each.event = ?1 ->> 'event'")
        if where.event != source.common:
            conditions.append(f"each.event <> '{source.common}'")  # so that SQLite knows that the index has them
            asked.append("event")
    conditions += _in_time(source, where, after)
    best = next(name for name in source.indexes if name in asked or name == "")
    return (
        f"SELECT {source.at} AS at, {source.tie} AS tie, {source.columns} FROM {source.table} AS each"
        f" INDEXED BY {source.indexes[best]} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {source.order} LIMIT ?1 ->> 'limit'"
    )


def _may_have(source: _EventTable, event: str | None) -> bool:
    if event is None:
        return True
    if source.events is not None:
        return event in source.events
    return not any(event in other.events for other in _SOURCES if other.events is not None)


def _in_time(source: _EventTable, where: AuditFilter, after: ListPosition | None) -> Iterator[str]:
    """Yield the conditions on when an event happened: in the period asked for, and behind the page before."""
    if where.after is not None:
        yield f"{source.at} > ?1 ->> 'after'"
    if where.before is not None:
        yield f"{source.at} < ?1 ->> 'before'"
    if after is not None:
        yield f"{source.at} <= ?1 ->> 'at' AND ({source.at} < ?1 ->> 'at' OR {source.tie} < ?1 ->> 'tie')"
