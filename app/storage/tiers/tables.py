"""Every table of the tiers, declared once: for erasure with its receipt, for export and import, and for counts."""

from dataclasses import dataclass

from app.domain.context import CONFIGURATION


@dataclass(frozen=True, slots=True)
class Counted:
    """What a limit of the tenant counts in a table.

    Attributes:
        unit: The column of the key that makes one of what is counted.
        used: The expression that counts what the tenant ``?1 ->> 'tenant_id'`` has.
        without: The value of ``unit`` that does not count.
    """

    unit: str
    used: str
    without: str = ""


@dataclass(frozen=True, slots=True)
class TierTable:
    """A table whose rows belong to a tenant.

    Attributes:
        kind: What a row is called in receipts, in counts and in lines of an export.
        table: The table. It has a column ``tenant_id``.
        columns: Every column but ``tenant_id`` and those that a row's own trigger fills in.
        key: The columns of its primary key behind ``tenant_id``.
        of_agent: Whether it has a column ``agent_id``: else the rows belong to all agents of the tenant.
        counted: Whether receipts and counts name it.
        expires: Whether a row counts as gone once its ``expires_at`` has passed: an export leaves it out.
        unnamed: Whether a row may name no agent: its ``agent_id`` is empty then.
        json: The columns whose texts are JSON.
        bounded: What a limit of the tenant counts in it: an import keeps to it as every other write does.
        of_run: Whether each row is of a run of its agent, without which an import does not take it.
        integers: The columns of the key that are integers; the others are texts.
        exported: Whether an export has its rows: those of objects would point to nothing where they are imported.
    """

    kind: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    of_agent: bool = True
    counted: bool = True
    exported: bool = True
    expires: bool = False
    unnamed: bool = False
    json: tuple[str, ...] = ()
    bounded: Counted | None = None
    of_run: bool = False
    integers: tuple[str, ...] = ()

    @property
    def travels(self) -> bool:
        """Whether exports have its rows, and imports take them; counts are kept right where the rows arrive."""
        return self.exported and bool(self.key)


_OF_TENANT = "AS held WHERE held.tenant_id = ?1 ->> 'tenant_id'"
_RUNS, _EPISODES = (
    Counted("id", f"coalesce((SELECT held.{column} FROM episodic_count {_OF_TENANT}), 0)")
    for column in ("runs", "episodes")
)
_DOCUMENTS = Counted(
    "name",
    f"(SELECT count(DISTINCT held.name) FROM context_versions {_OF_TENANT} AND held.name <> '{CONFIGURATION}')",
    CONFIGURATION,
)
_WORKFLOWS = Counted("id", f"(SELECT count(*) FROM workflow {_OF_TENANT})")
_EPISODIC = (
    # The triggers of runs and episodes fill in the counts, and drop the row with the last of them.
    TierTable("episodic_count", "episodic_count", ("warned_day",), (), of_agent=False, counted=False),
    TierTable(
        "runs",
        "agent_runs",
        (
            *("id", "agent_id", "agent_type", "status", "input", "output", "error", "workflow_id"),
            *("started_at", "ended_at"),
        ),
        ("id",),
        json=("input", "output"),
        bounded=_RUNS,
    ),
    TierTable(
        "episodes",
        "memory_episodes",
        ("id", "run_id", "agent_id", "agent_type", "type", "content", "data", "occurred_at", "created_at"),
        ("id",),
        json=("data",),
        bounded=_EPISODES,
        of_run=True,
    ),
    TierTable("context_floor", "context_floor", ("version",), (), of_agent=False, counted=False),
    TierTable(
        "context",
        "context_versions",
        ("name", "version", "size", "sha256", "media_type", "updated_at", "write_id", "content"),
        ("name", "version"),
        of_agent=False,
        bounded=_DOCUMENTS,
        integers=("version",),
    ),
)
_WORKING = (
    TierTable(
        kind="working_instances",
        table="working_instance",
        columns=("agent_id", "instance", "version", "expires_at"),
        key=("agent_id", "instance"),
        counted=False,
    ),
    TierTable(
        kind="working_keys",
        table="working_key",
        columns=("agent_id", "instance", "key", "bytes", "version", "expires_at", "value"),
        key=("agent_id", "instance", "key"),
        expires=True,
        json=("value",),
    ),
    TierTable(
        kind="working_log_entries",
        table="working_log",
        columns=("agent_id", "run_id", "number", "bytes", "created_at", "expires_at", "entry"),
        key=("agent_id", "run_id", "number"),
        expires=True,
        json=("entry",),
        integers=("number",),
    ),
    TierTable(
        kind="working_windows",
        table="working_window",
        columns=(
            *("agent_id", "instance", "expires_at", "messages", "bytes", "over", "fallen", "fallen_since"),
            *("fallen_until", "busy_until", "tried_at"),
        ),
        key=("agent_id", "instance"),
    ),
    TierTable(
        kind="working_turns",
        table="working_turn",
        columns=(
            *("agent_id", "instance", "place", "id", "role", "said_at", "bytes", "tokens", "written_by"),
            *("written_through", "issued_at", "speakers", "content"),
        ),
        key=("agent_id", "instance", "place"),
        json=("speakers",),
        integers=("place",),
    ),
)
_BLOBS = (
    TierTable(
        kind="blobs",
        table="blob",
        columns=("id", "agent_id", "sha256", "size", "media_type", "state", "created_at"),
        key=("id",),
        exported=False,
    ),
)
_PROCEDURAL = (
    TierTable(
        kind="workflows",
        table="workflow",
        columns=(
            *("id", "agent_type", "task_type", "spec", "alpha", "beta", "discount", "enabled"),
            *("created_at", "updated_at"),
        ),
        key=("id",),
        of_agent=False,
        json=("spec",),
        bounded=_WORKFLOWS,
    ),
    TierTable(
        kind="workflow_outcomes",
        table="workflow_outcome",
        columns=("workflow_id", "run_id", "score", "created_at"),
        key=("workflow_id", "run_id"),
        of_agent=False,
    ),
)
_AUDIT = (
    TierTable(
        kind="tool_calls",
        table="tool_call_log",
        columns=(
            *("run_id", "number", "id", "agent_id", "tool", "input", "input_hash", "outcome", "error", "output"),
            *("ms", "tokens", "called_at", "recorded_at", "written_by", "after_end"),
        ),
        key=("run_id", "number"),
        json=("input", "output", "ms"),
        integers=("number",),
    ),
    TierTable(
        kind="recalls",
        table="recall_log",
        columns=("id", "agent_id", "run_id", "event", "detail", "recorded_at", "written_by"),
        key=("id",),
        json=("detail",),
        unnamed=True,
    ),
)
TIER_TABLES: tuple[TierTable, ...] = (
    *_EPISODIC,
    *_WORKING,
    *_BLOBS,
    *_PROCEDURAL,
    *_AUDIT,
)
"""In the order in which an import writes them."""
