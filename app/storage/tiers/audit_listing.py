"""Statements that list one tenant's events, newest first: those of the table audit, tool calls, recalls, outcomes."""

from dataclasses import asdict, dataclass

from app.domain.audit import AuditFilter
from app.domain.memory import Tenant
from app.storage.declared import PagedTable, behind
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement


@dataclass(frozen=True, slots=True)
class _EventTable:
    """A table of events.

    Attributes:
        pages: The declaration of their listing. The table has no events for a filter that has no index in it.
        events: The names of its events; None: any name that no other table's events have.
        common: The name that most of its events have; the index for ``event`` leaves these out.
    """

    pages: PagedTable
    events: frozenset[str] | None
    common: str = ""


_EVENTS_OF_RECALLS = frozenset(("recall", "recalls_dropped"))


def _pages(table: str, columns: str, *, at: str, tie: str, order: str, indexes: dict[str, str]) -> PagedTable:
    """Declare how a table's events are listed; ``indexes`` has each index by the filter that it is for."""
    return PagedTable(
        table=f"{table} AS row",
        columns=f"{at} AS at, {columns}",
        at=at,
        tie=tie,
        order=order,
        indexes={(name,) if name else (): index for name, index in indexes.items()},
        where={"after": f"{at} > ?1 ->> 'after'", "before": f"{at} < ?1 ->> 'before'"},
    )


_SOURCES = (
    _EventTable(
        _pages(
            "audit",
            "row.event, row.agent_id, row.memory_id, NULL AS run_id, row.written_by, row.detail",
            at="row.created_at",
            tie="'a' || printf('%020d', row.number)",
            order="row.created_at DESC, row.number DESC",
            indexes={
                "memory_id": "audit_of_memory",
                "written_by": "audit_of_writer",
                "agent_id": "audit_of_agent",
                "event": "audit_rare",
                "": "audit_of_tenant",
            },
        ),
        None,
        common="stored",
    ),
    _EventTable(
        _pages(
            "tool_call_log",
            "'tool_call' AS event, row.agent_id, NULL AS memory_id, row.run_id, row.written_by,"
            " json_object('call_id', row.id, 'tool', row.tool, 'input_hash', row.input_hash, 'outcome', row.outcome,"
            " 'error', row.error, 'ms', json(row.ms), 'tokens', row.tokens,"
            " 'after_end', json(iif(row.after_end, 'true', 'false'))) AS detail",
            at="row.recorded_at",
            tie="'t' || row.run_id || printf('%05d', row.number)",
            order="row.recorded_at DESC, row.run_id DESC, row.number DESC",
            indexes={
                "run_id": "tool_call_log_of_run",
                "written_by": "tool_call_log_of_writer",
                "agent_id": "tool_call_log_of_agent",
                "": "tool_call_log_newest",
            },
        ),
        frozenset(("tool_call",)),
    ),
    _EventTable(
        _pages(
            "recall_log",
            "row.event, iif(row.agent_id = '', NULL, row.agent_id) AS agent_id, NULL AS memory_id, row.run_id,"
            " row.written_by, row.detail",
            at="row.recorded_at",
            tie="'r' || row.id",
            order="row.recorded_at DESC, row.id DESC",
            indexes={
                "run_id": "recall_log_of_run",
                "written_by": "recall_log_of_writer",
                "agent_id": "recall_log_of_agent",
                "event": "recall_log_rare",
                "": "recall_log_newest",
            },
        ),
        _EVENTS_OF_RECALLS,
        common="recall",
    ),
    _EventTable(
        _pages(
            "workflow_outcome",
            "'outcome' AS event, row.agent_id, NULL AS memory_id, row.run_id, row.written_by,"
            " json_object('workflow_id', row.workflow_id, 'score', row.score,"
            " 'through', row.written_through) AS detail",
            at="row.created_at",
            # No id has a space, which sorts before all characters of ids.
            tie="'o' || row.workflow_id || ' ' || row.run_id",
            order="row.created_at DESC, row.workflow_id DESC, row.run_id DESC",
            indexes={
                "run_id": "workflow_outcome_of_run",
                "written_by": "workflow_outcome_of_writer",
                "agent_id": "workflow_outcome_of_agent",
                "": "workflow_outcome_newest",
            },
        ),
        frozenset(("outcome",)),
    ),
)
_EQUAL = ("agent_id", "memory_id", "run_id", "written_by")
_NOTHING = "SELECT 0 AS page_at, '' AS page_tie WHERE ?1 ->> 'tenant_id' IS NULL"


def events(tenant_id: str, where: AuditFilter, *, limit: int, after: ListPosition | None) -> ScopedStatement:
    """Read the next events, newest first, as rows of ``AuditEvent`` for ``list_page``."""
    parts = [part for source in _SOURCES if (part := _part(source, where, after)) is not None]
    # Every event belongs to a table, so there is a part unless two filters exclude each other.
    union = " UNION ALL ".join(f"SELECT * FROM ({part})" for part in parts) or _NOTHING
    return ScopedStatement.read(
        Tenant(tenant_id),
        f"SELECT * FROM ({union}) ORDER BY page_at DESC, page_tie DESC LIMIT ?1 ->> 'limit'",
        **asdict(where),
        **behind(after),
        limit=limit,
    )


def _part(source: _EventTable, where: AuditFilter, after: ListPosition | None) -> str | None:
    """Return the statement that selects a table's events; None where no event of it can pass the filter."""
    asked = [name for name in _EQUAL if getattr(where, name) is not None]
    with_index = {name for names in source.pages.indexes for name in names}
    if not with_index.issuperset(asked) or not _may_have(source, where.event):
        return None
    asked += [name for name in ("after", "before") if getattr(where, name) is not None]
    if where.event is None or "event" not in with_index:
        return source.pages.select(asked, after=after)
    if where.event == source.common:
        return source.pages.select(asked, "row.event = ?1 ->> 'event'", after=after)
    # By the second condition SQLite knows that the index has the rows.
    return source.pages.select([*asked, "event"], f"row.event <> '{source.common}'", after=after)


def _may_have(source: _EventTable, event: str | None) -> bool:
    if event is None:
        return True
    if source.events is not None:
        return event in source.events
    return not any(event in other.events for other in _SOURCES if other.events is not None)
