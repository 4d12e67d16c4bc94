"""What the service answers. All times are aware datetimes; what a newer service adds is not read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Stored:
    """The memory is stored: every later recall finds it.

    Attributes:
        kept: What stays as it was of content that was there already: ``expires_at``, or ``metadata.`` and a key.
    """

    stored: bool = True
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote a memory.

    Attributes:
        channel: ``http``, ``mcp``, ``import`` or ``command``.
        credential_id: Of the credential; None where an operator wrote it.
    """

    channel: str
    written_at: datetime
    credential_id: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one channel, or one cue, has to do with a score.

    Attributes:
        channel: ``lexical``, ``vector``, ``beside``, ``session``, ``names``, ``time``, ``numbers``, ``recency`` or
            ``reranker``.
        weighted: Its share of the score; all shares add up to it.
        raw: In the channel's own measure.
        rank: The memory's rank in the channel, from 1.
    """

    channel: str
    weighted: float
    raw: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory found.

    Attributes:
        score: How likely it answers the query, or the reranker's relevance where one is set, 0 to 1.
        similarity: Cosine of the embeddings, -1 to 1; None where only other channels found it.
        created_at: When it was stored.
        occurred_at: When what it says happened; None where the store did not say.
        session_id: The conversation it comes from; None where the store did not say.
        source: Who wrote it; None where that was not kept yet.
        findings: What the score is made of, where ``explain`` asked for it.
    """

    id: str
    content: str
    metadata: dict[str, Any]
    score: float
    similarity: float | None
    created_at: datetime
    occurred_at: datetime | None
    session_id: str | None
    source: Source | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one session, or a memory that has none.

    Attributes:
        session_id: The conversation; None: the only entry comes from none.
        score: How likely one of its entries answers the query, 0 to 1.
        entries: The ids of its entries, best first.
    """

    session_id: str | None
    score: float
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """What was found, best first.

    Attributes:
        entries: With ``group_by`` group after group, each best first.
        confidence: How likely it is that something of it helps, 0 to 1.
        degraded: Why this may not be all there is, or not in the best order, such as ``index_unavailable``.
        groups: Which entries belong together, best first, where ``group_by`` asked for it.
    """

    entries: tuple[Entry, ...]
    confidence: float
    degraded: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What of a question has to be another; what is None stays as it was. ``filter`` is the filter that is left."""

    query: str | None = None
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    collapse: bool | None = None
    as_of: datetime | None = None
    filter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """How a newer memory bears on an older one, as a reader has found.

    Attributes:
        name: What the newer does to the older: ``holds``, ``replaces``, ``ends`` or ``restates``.
        probability: How likely it is that the older holds no longer.
        effect: ``hides``: the older is not returned; ``newer_first``: it comes behind the newer; None: nothing.
        version: The name of the reader's weights.
        compared_at: When it was recorded; None: this recall has compared them.
    """

    older_id: str
    newer_id: str
    name: str
    probability: float
    effect: str | None
    version: str
    compared_at: datetime | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a recall sees one memory.

    Attributes:
        rank: Among all that the recall has compared, from 1.
        findings: What the score is made of; empty where no channel finds the memory.
        obstacles: What keeps it out: ``expired``, ``as_of``, ``superseded``, ``filter``, ``collapse``, ``min_score``,
            ``max_tokens``, ``rank``.
        change: The least change of the question that returns it; None where it is returned, or where none does.
        degraded: As in a recall.
        relations: How it and others bear on each other, where a reader has found that they do.
    """

    returned: bool
    rank: int
    score: float
    findings: tuple[Finding, ...]
    obstacles: tuple[str, ...]
    change: Change | None
    degraded: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory with everything that was stored of it.

    Attributes:
        source: Who wrote it; None where that was not kept yet.
        later_keys: The metadata keys that came later, each with the id of the credential that brought it.
        superseded_at: When what replaced it was said; None: it holds.
        type: ``fact``, ``instruction``, ``event`` or ``task``; None: its statements were not read.
        forgotten_at: Since when no recall finds it; None: it is remembered.
        message_id: The message that it is, where it was ingested.
    """

    id: str
    agent_id: str
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    session_id: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    source: Source | None = None
    later_keys: dict[str, str] | None = None
    superseded_at: datetime | None = None
    type: str | None = None
    forgotten_at: datetime | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as a profile shows it.

    Attributes:
        summary: Its first line, cut where it is long.
        type: ``fact``, ``instruction``, ``event`` or ``task``; None: its statements were not read.
        forgotten_at: Since when no recall finds it; None: it is remembered.
        superseded_at: When what replaced it was said; None: it holds.
    """

    id: str
    summary: str
    content: str
    created_at: datetime
    type: str | None = None
    session_id: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back of a credential's work. The credential is revoked.

    Attributes:
        memories: How many that it had written were deleted.
        changed: How many of others lost the metadata keys that it had brought, or are remembered again.
        outcomes: How many outcomes of workflows, which it had reported, count no more.
        more: Whether there is more, since one call has an end: call again.
    """

    credential_id: str
    memories: int
    changed: int
    outcomes: int
    more: bool
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Memories of a listing, newest first; where there are more, ``cursor`` goes on with the same listing."""

    memories: tuple[Memory, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be had; None has no limit."""

    memories: int | None = None
    bytes: int | None = None
    stores_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class BytesByTier:
    """The bytes of each memory tier; ``audit`` is tool calls, ``ingestion`` messages that are no memories yet."""

    long_term: int
    working: int
    episodic: int
    procedural: int
    shared_context: int
    audit: int
    blobs: int
    ingestion: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What is there, and what may be. ``bytes`` are of all memory tiers, ``bytes_by_tier`` are the parts of it."""

    memories: int
    bytes: int
    stores_this_minute: int
    limits: Limits
    bytes_by_tier: BytesByTier


@dataclass(frozen=True, slots=True)
class AgentUsage(Usage):
    """What one agent has."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class Kept:
    """How many rows are kept of a tenant beside its memories; ``receipts`` are of finished erasures.

    ``snapshot_bytes`` are those of its snapshots in the object store.
    """

    idempotency_keys: int
    audit_rows: int
    agent_settings: int
    receipts: int
    snapshot_bytes: int = 0
    runs: int = 0
    episodes: int = 0
    context: int = 0
    working_keys: int = 0
    working_log_entries: int = 0
    working_windows: int = 0
    working_turns: int = 0
    working_summaries: int = 0
    blobs: int = 0
    snapshots: int = 0
    archives: int = 0
    workflows: int = 0
    workflow_outcomes: int = 0
    workflow_versions: int = 0
    tool_calls: int = 0
    recalls: int = 0


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What language models may cost; None has no limit."""

    calls_per_day: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What calls of language models have cost since midnight UTC; tokens are of messages and answers."""

    calls_today: int
    tokens_today: int
    limits: ModelLimits


@dataclass(frozen=True, slots=True)
class Usages:
    """Usage of the agents, those with the most first; of the tenant where all agents were asked for.

    Attributes:
        models: Of the tenant, where a language model is set.
    """

    agents: tuple[AgentUsage, ...]
    tenant: Usage | None = None
    kept: Kept | None = None
    models: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent is set to.

    Attributes:
        retention_days: None: its memories live for ever where a store does not say.
        tools: The tools that its model is given, ``recall_store`` or ``profile``.
    """

    agent_id: str
    retention_days: int | None
    long_term_enabled: bool
    tools: str


@dataclass(frozen=True, slots=True)
class ErasedCounts:
    """What was erased, by kind."""

    memories: int
    outbox_rows: int
    dead_letters: int
    idempotency_keys: int
    messages: int = 0
    runs: int = 0
    episodes: int = 0
    context: int = 0
    working_keys: int = 0
    working_log_entries: int = 0
    working_windows: int = 0
    working_turns: int = 0
    working_summaries: int = 0
    blobs: int = 0
    snapshots: int = 0
    archives: int = 0
    workflows: int = 0
    workflow_outcomes: int = 0
    workflow_versions: int = 0
    tool_calls: int = 0
    recalls: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of an erasure.

    Attributes:
        found_by_id: Vectors the index still shows under the erased ids: 0.
        found_by_search: Vectors and rows that a search still finds: 0.
        history_until: Until when an operator can restore the database to before the erasure.
    """

    ended_at: datetime
    erased: ErasedCounts
    found_by_id: int
    found_by_search: int
    history_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An erasure, and how far it is.

    Attributes:
        status: ``running`` or ``done``.
        memories: Memories erased so far.
        agent_id: Whose memories are erased; None: the whole tenant's.
        receipt: Once it is done.
    """

    id: str
    status: str
    accepted_at: datetime
    memories: int
    kind: str = "erase"
    agent_id: str | None = None
    receipt: Receipt | None = None
