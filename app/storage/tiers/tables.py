"""Every table of the tiers, declared once: for erasure with its receipt, for export and import, and for counts."""

from dataclasses import dataclass

from app.domain import limits
from app.domain.blobs import Blob
from app.domain.context import CONFIGURATION, ContextVersion
from app.domain.episodes import Episode
from app.domain.windows import Summary
from app.domain.workflows import WorkflowVersion
from app.storage.declared import names_of


@dataclass(frozen=True, slots=True)
class RowLimit:
    """A limit on rows of a table, which an import keeps to as every other write does.

    Attributes:
        name: The limit's name in ``app.domain.limits``.
        of: The columns that name the owner of the limit, such as an instance; none: the tenant is the owner.
        amount: The column with the amount that a row counts; None: each row counts one.
        exempt: A column, and its value in the rows that do not count.
        unit: The column each of whose values counts once, however many rows have the value; None: each row counts.
        used: The expression of the used amount of the tenant ``?1 ->> 'tenant_id'``, where no rows need to be read.
    """

    name: str
    of: tuple[str, ...] = ()
    amount: str | None = None
    exempt: tuple[str, str] | None = None
    unit: str | None = None
    used: str | None = None


@dataclass(frozen=True, slots=True)
class Parent:
    """The row that a row belongs to, without which an import does not take it.

    Attributes:
        table: The parent's table.
        columns: By the parent's columns, those of the row that are equal to them.
        missing: The words by which an import reports a row without its parent.
    """

    table: str
    columns: tuple[tuple[str, str], ...]
    missing: str


@dataclass(frozen=True, slots=True)
class Large:
    """A value that is a blob where it is too large for its row: the row has a pointer to the blob then.

    Attributes:
        column: The column of the value, which is JSON.
        blob: The column that names the blob.
        most: How many bytes the value may have as JSON.
        within: The name of the value in the object that the column has; None: the column is the value.
    """

    column: str
    blob: str
    most: int
    within: str | None = None


@dataclass(frozen=True, slots=True)
class TierTable:
    """A table whose rows belong to a tenant.

    Attributes:
        kind: The name of a row in receipts, in counts and in lines of an export.
        table: The table. It has a column ``tenant_id``.
        columns: Every column but ``tenant_id`` and those that a row's own trigger fills in.
        key: The columns of its primary key behind ``tenant_id``.
        counted: Whether receipts and counts name it.
        expires: Whether an export leaves a row out once its ``expires_at`` has passed.
        unnamed: Whether a row may name no agent: its ``agent_id`` is empty then.
        names_agent: Whether a row that belongs to all agents names one in ``agent_id``, or none (NULL): an erasure of
            this agent takes the row too.
        json: The columns whose texts are JSON.
        limits: The limits on its rows.
        over: The words by which an import reports a row that is over one of these limits.
        parent: The row that each row belongs to.
        weighs: The columns whose bytes the column ``bytes`` counts, and the bytes that it counts for a row beside them.
        day: Whether a row expires within a day of its writing, as all of working memory does.
        integers: The columns of the key that are integers; the others are texts.
        large: The values that may be blobs; lines of an export have the values, and name no blobs.
        for_anybody: Whether only a credential that may speak for anybody may import its rows, because they decide
            which memories of others hold, or become memories of the author that the row names.
        memories: The columns that name memories of the agent by their ids: a column has one id, or is JSON, a list of
            ids or of objects that have such lists as ``memories``. An import writes the ids that the memories get.
        read_as: The columns whose value in a line differs from the table's: each with the expression over the row
            ``held``.
        exported: Whether an export has its rows: rows of objects would point to nothing where they are imported.
    """

    kind: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    counted: bool = True
    exported: bool = True
    expires: bool = False
    unnamed: bool = False
    names_agent: bool = False
    json: tuple[str, ...] = ()
    limits: tuple[RowLimit, ...] = ()
    over: str = "is over a limit of the tenant"
    parent: Parent | None = None
    weighs: tuple[tuple[str, ...], int] | None = None
    day: bool = False
    integers: tuple[str, ...] = ()
    large: tuple[Large, ...] = ()
    for_anybody: bool = False
    memories: tuple[str, ...] = ()
    read_as: tuple[tuple[str, str], ...] = ()

    @property
    def of_agent(self) -> bool:
        """Whether each row belongs to the agent of its ``agent_id``; if not, to all agents of the tenant."""
        return "agent_id" in self.columns and not self.names_agent

    @property
    def told(self) -> tuple[str, ...]:
        """The columns that a line of an export may have."""
        return tuple(column for column in self.columns if column not in {large.blob for large in self.large})

    @property
    def travels(self) -> bool:
        """Whether exports have its rows, and imports take them; counts are kept right where the rows arrive."""
        return self.exported and bool(self.key)


_COUNT = "coalesce((SELECT held.{} FROM episodic_count AS held WHERE held.tenant_id = ?1 ->> 'tenant_id'), 0)"
_NO_DOCUMENT = ("name", CONFIGURATION)
_INSTANCE = ("agent_id", "instance")
_RUN = Parent("agent_runs", (("id", "run_id"), ("agent_id", "agent_id")), "its agent has no such run")
_EPISODIC = (
    # The triggers of runs and episodes fill in the counts, and drop the row with the last of them.
    TierTable("episodic_count", "episodic_count", ("warned_day",), (), counted=False),
    TierTable(
        "runs",
        "agent_runs",
        (
            *("id", "agent_id", "agent_type", "status", "input", "output", "error", "workflow_id"),
            *("started_at", "ended_at", "input_blob", "output_blob", "kept"),
            *("parent_run_id", "parent_gone"),
        ),
        ("id",),
        json=("input", "output"),
        limits=(RowLimit("MAX_RUNS", used=_COUNT.format("runs")),),
        large=(
            Large("input", "input_blob", limits.RUN_VALUE_BYTES, within="input"),
            Large("output", "output_blob", limits.RUN_VALUE_BYTES),
        ),
    ),
    TierTable(
        "episodes",
        "memory_episodes",
        names_of(Episode),
        ("id",),
        json=("data",),
        limits=(RowLimit("TENANT_EPISODES", used=_COUNT.format("episodes")),),
        parent=_RUN,
    ),
    TierTable("context_floor", "context_floor", ("version",), (), counted=False),
    TierTable(
        "context",
        "context_versions",
        (*names_of(ContextVersion), "write_id", "content"),
        ("name", "version"),
        limits=(
            RowLimit("MAX_CONTEXT_DOCUMENTS", unit="name", exempt=_NO_DOCUMENT),
            RowLimit("MAX_CONTEXT_BYTES", amount="size", exempt=_NO_DOCUMENT),
            RowLimit("MAX_CONTEXT_VERSIONS", of=("name",)),
        ),
        integers=("version",),
    ),
)
_OF_WINDOW = Parent("working_window", (("agent_id", "agent_id"), ("instance", "instance")), "has no window")
_WORKING = (
    TierTable(
        kind="working_instances",
        table="working_instance",
        columns=("agent_id", "instance", "version", "expires_at"),
        key=("agent_id", "instance"),
        counted=False,
        expires=True,
        limits=(RowLimit("MAX_WORKING_INSTANCES"),),
        day=True,
    ),
    TierTable(
        kind="working_keys",
        table="working_key",
        columns=("agent_id", "instance", "key", "bytes", "version", "expires_at", "blob_id", "value"),
        key=("agent_id", "instance", "key"),
        expires=True,
        json=("value",),
        limits=(RowLimit("WORKING_BYTES", of=_INSTANCE, amount="bytes"), RowLimit("MAX_WORKING_KEYS", of=_INSTANCE)),
        over="is over a limit of its instance",
        parent=Parent("working_instance", (("agent_id", "agent_id"), ("instance", "instance")), "has no instance"),
        weighs=(("key", "value"), 0),
        day=True,
        large=(Large("value", "blob_id", limits.WORKING_BYTES),),
    ),
    TierTable(
        kind="working_log_entries",
        table="working_log",
        columns=("agent_id", "run_id", "number", "bytes", "created_at", "expires_at", "entry"),
        key=("agent_id", "run_id", "number"),
        expires=True,
        json=("entry",),
        integers=("number",),
        limits=(RowLimit("LOG_BYTES", of=("agent_id", "run_id"), amount="bytes"),),
        over="is over the limit of its log",
        parent=_RUN,
        weighs=(("entry",), limits.LOG_OVERHEAD),
        day=True,
    ),
    TierTable(
        kind="working_windows",
        table="working_window",
        columns=(
            *("agent_id", "instance", "expires_at", "messages", "bytes", "tokens", "over", "fallen", "fallen_since"),
            *("fallen_until", "busy_until", "tried_at"),
        ),
        key=("agent_id", "instance"),
        limits=(RowLimit("MAX_WORKING_INSTANCES"),),
        day=True,
    ),
    TierTable(
        kind="working_turns",
        table="working_turn",
        columns=(
            *("agent_id", "instance", "place", "id", "role", "said_at", "bytes", "tokens", "told", "written_by"),
            *("written_through", "issued_at", "speakers", "content"),
        ),
        key=("agent_id", "instance", "place"),
        json=("speakers",),
        integers=("place",),
        limits=(
            RowLimit("MAX_WINDOW_BYTES", of=_INSTANCE, amount="bytes"),
            RowLimit("MAX_WINDOW_MESSAGES", of=_INSTANCE),
        ),
        over="is over a limit of its window, or its message is there already",
        parent=_OF_WINDOW,
        weighs=(("content",), 0),
        for_anybody=True,
    ),
    TierTable(
        kind="working_summaries",
        table="working_summary",
        columns=("agent_id", "instance", *names_of(Summary)),
        key=("agent_id", "instance", "last_place"),
        json=("memories", "sentences"),
        integers=("last_place",),
        limits=(RowLimit("MAX_WINDOW_SUMMARIES", of=_INSTANCE),),
        over="is over the limit of its window",
        parent=_OF_WINDOW,
        for_anybody=True,
        memories=("memories", "sentences"),
    ),
)
_BLOBS = (
    TierTable(
        kind="blobs",
        table="blob",
        columns=(*names_of(Blob), "agent_id", "state"),
        key=("id",),
        exported=False,
    ),
)
# An agent's erasure takes the snapshots that have rows of the agent (app.storage.system.snapshots).
_SNAPSHOTS = (
    TierTable(
        kind="snapshots",
        table="snapshot",
        columns=("id", "state", "bytes", "agents", "created_at", "renewed_at"),
        key=("id",),
        exported=False,
        json=("agents",),
    ),
)
_ARCHIVES = (
    TierTable(
        kind="archives",
        table="archive",
        columns=(
            *("id", "agent_id", "kind", "items", "size", "sha256", "first_at", "last_at", "first_id", "last_id"),
            *("archived_at", "restored_until", "id_ends"),
        ),
        key=("id",),
        exported=False,
    ),
)
_WORKFLOW = Parent("workflow", (("id", "workflow_id"),), "the tenant has no such workflow")
_PROCEDURAL = (
    TierTable(
        kind="workflows",
        table="workflow",
        columns=(
            *("id", "agent_type", "task_type", "spec", "alpha", "beta", "discount", "enabled"),
            *("created_at", "updated_at", "version", "written_by", "written_through", "written_at"),
        ),
        key=("id",),
        json=("spec",),
        limits=(RowLimit("MAX_WORKFLOWS"), RowLimit("MAX_WORKFLOWS_OF_TASK", of=("agent_type", "task_type"))),
        over="is over a limit of the tenant or of its task",
    ),
    TierTable(
        kind="workflow_outcomes",
        table="workflow_outcome",
        columns=("workflow_id", "run_id", "score", "created_at", "written_by", "written_through", "agent_id"),
        key=("workflow_id", "run_id"),
        names_agent=True,
    ),
    TierTable(
        kind="workflow_tallies",
        table="workflow_tally",
        columns=("workflow_id", "written_by", "author", "agent_id", "successes", "failures", "counted_at"),
        key=("workflow_id", "written_by"),
        names_agent=True,
        counted=False,
        parent=_WORKFLOW,
    ),
    TierTable(
        kind="workflow_versions",
        table="workflow_version",
        columns=("workflow_id", *names_of(WorkflowVersion)),
        key=("workflow_id", "version"),
        json=("spec",),
        integers=("version",),
        limits=(RowLimit("MAX_WORKFLOW_VERSIONS", of=("workflow_id",)),),
        over="is over the limit of its workflow",
        parent=_WORKFLOW,
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
# Relations of memories; their effects are claims, which triggers make (schema.sql).
_RELATIONS = (
    TierTable(
        kind="relations",
        table="relation",
        columns=("agent_id", "newer_id", "older_id", "name", "probability", "effect", "version", "compared_at"),
        key=("agent_id", "newer_id", "older_id"),
        counted=False,
        for_anybody=True,
        memories=("newer_id", "older_id"),
    ),
)
# Merges of memories and facts, and the sources of facts; merges are claims as well (schema.sql).
_CONSOLIDATION = (
    TierTable(
        kind="consolidations",
        table="consolidation",
        columns=(
            *("id", "started_at", "finished_at", "undone_at", "after"),
            *("memories", "facts", "chains", "tasks"),
        ),
        key=("id",),
        counted=False,
        for_anybody=True,
    ),
    TierTable(
        kind="consolidated",
        memories=("other_id", "kept_id"),
        table="consolidated",
        columns=(
            *("agent_id", "other_id", "kept_id", "kind", "undone", "said_again_at"),
            *("consolidation_id", "consolidated_at"),
        ),
        key=("agent_id", "other_id", "kept_id"),
        counted=False,
        for_anybody=True,
    ),
    TierTable(
        kind="shortcuts",
        memories=("other_id", "kept_id", "via_id"),
        table="shortcut",
        columns=("agent_id", "other_id", "kept_id", "via_id"),
        key=("agent_id", "other_id", "kept_id"),
        counted=False,
        for_anybody=True,
    ),
    TierTable(
        kind="fact_sources",
        memories=("memory_id",),
        table="fact_source",
        columns=("agent_id", "memory_id", "source", "confidence", "written_by"),
        key=("agent_id", "memory_id", "source"),
        counted=False,
        for_anybody=True,
    ),
)
# They name memories by their ids, and only an operator's commands write them.
_GOLDEN = (
    TierTable(
        kind="golden_questions",
        table="golden_question",
        columns=("agent_id", "id", "question"),
        key=("agent_id", "id"),
        counted=False,
        exported=False,
        json=("question",),
    ),
)
TIER_TABLES: tuple[TierTable, ...] = (
    *_GOLDEN,
    *_RELATIONS,
    *_CONSOLIDATION,
    *_EPISODIC,
    *_WORKING,
    *_BLOBS,
    *_SNAPSHOTS,
    *_ARCHIVES,
    *_PROCEDURAL,
    *_AUDIT,
)
"""All tables, in the order in which an import writes them."""
