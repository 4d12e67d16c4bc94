"""Types of data.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime

from memory_gateway_client.types.memory import Memory


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent is set to.

    Attributes:
        tools: One of ``recall_store``, ``profile``.
    """

    agent_id: str
    retention_days: int | None
    long_term_enabled: bool
    tools: str


@dataclass(frozen=True, slots=True)
class Credential:
    """What is known of a credential. The token itself is kept nowhere.

    Attributes:
        id: Its claim ``jti``, which is no secret.
        agent_id: The only agent that it is good for. Absent: all of the tenant's.
        speakers: The speakers that it may speak for. Absent: every speaker. Empty: an erasure took the names away.
        requests_per_minute: Its own limit, of each replica. Absent: that of the settings.
        channel: By what it was minted: ``command``, ``http`` or ``console``. Absent: it was recorded when it was first
            used.
        minted_by: The credential that minted it. Absent: a command did, or it is not known.
        expires_at: Absent: it holds until it is revoked.
        last_used_at: When it was last used; noted once an hour. Absent: not yet, as far as is known.
        revoked_at: Absent: it was not revoked.
    """

    id: str
    scopes: tuple[str, ...]
    minted_at: datetime
    agent_id: str | None = None
    speakers: tuple[str, ...] = ()
    requests_per_minute: int | None = None
    channel: str | None = None
    minted_by: str | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """A page of credentials, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    credentials: tuple[Credential, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Minted:
    """A new credential. Its token is shown this once.

    Attributes:
        token: Send it as ``Authorization: Bearer <token>``. It is kept nowhere.
    """

    token: str
    credential: Credential


@dataclass(frozen=True, slots=True)
class Revoked:
    """A credential that holds no longer.

    Attributes:
        recorded: False: no credential with this id was minted here or used yet. It is revoked all the same.
    """

    id: str
    revoked_at: datetime
    recorded: bool


@dataclass(frozen=True, slots=True)
class Undone:
    """The receipt: what was taken back. The credential is revoked.

    Attributes:
        memories: Memories that it had written, deleted.
        changed: Memories of others that lost the metadata keys that it had brought, or that it had forgotten.
        outcomes: Outcomes of workflows that it had reported: they count no more.
        more: Whether there is more, since one call has an end: call again.
        finished_at: The old name of ``ended_at``, given until the next version.
    """

    credential_id: str
    memories: int
    changed: int
    outcomes: int
    more: bool
    ended_at: datetime
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class UndoGoing:
    """A memory that would go."""

    id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class UndoHolding:
    """A memory that is superseded now, and would hold again.

    Attributes:
        memory_id: The old name of ``id``, given until the next version.
        content: At most its first 1,200 characters.
    """

    id: str
    agent_id: str
    content: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True)
class UndoForecast:
    """How far an undo would reach.

    Attributes:
        learned: Of ``memories``: learned of messages that would go, and so gone with them.
        agents: How many agents would lose memories.
        agent_ids: The first 50 of them.
        going: The first 50 memories that would go.
        holds_again: How many memories that are superseded now would hold again.
        holding: The first 50 of them.
        at_least: Whether the counts, also those beside the forecast, say how many at least.
    """

    learned: int
    agents: int
    agent_ids: tuple[str, ...]
    going: tuple[UndoGoing, ...]
    holds_again: int
    holding: tuple[UndoHolding, ...]
    at_least: bool


@dataclass(frozen=True, slots=True)
class UndoneLearned:
    """What was taken back or, of a dry run, would be.

    Attributes:
        dry_run: Whether nothing was changed.
        memories: Memories that were deleted, or would be.
        changed: Memories of others that lose what was added to them, or are remembered again.
        messages: Messages that were no memories yet: of a run, or of a session and its window.
        outcomes: Of a credential: outcomes of workflows that it had reported.
        more: Whether there is more, since one call has an end: call again.
        finished_at: The old name of ``ended_at``, given until the next version.
        forecast: Of a dry run.
    """

    dry_run: bool
    memories: int
    changed: int
    messages: int
    outcomes: int
    more: bool
    ended_at: datetime
    finished_at: datetime | None = None
    forecast: UndoForecast | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Memories, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    memories: tuple[Memory, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class BytesByTier:
    """Bytes in UTF-8 by tier. Outside long-term memory each row counts 200 more than what was sent and named.

    Attributes:
        long_term: Content and metadata of memories.
        episodic: Runs and episodes.
        procedural: Workflows and their outcomes.
        shared_context: With the versions that are kept. Of the tenant alone.
        audit: Tool calls of runs.
        blobs: With their objects, and with large values.
        ingestion: Messages that are no memories yet, and operations.
    """

    long_term: int
    working: int
    episodic: int
    procedural: int
    shared_context: int
    audit: int
    blobs: int
    ingestion: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be had. What is absent has no limit."""

    memories: int | None = None
    bytes: int | None = None
    stores_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What is there, and what may be.

    Attributes:
        memories: With those that have expired and are not pruned yet.
        bytes: Of all tiers together: what counts in the limit.
        bytes_by_tier: The parts of ``bytes``.
    """

    memories: int
    bytes: int
    bytes_by_tier: BytesByTier
    stores_this_minute: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that are kept beside memories.

    Attributes:
        idempotency_keys: Of the last 24 hours.
        agent_settings: Agents that an administrator has set.
        receipts: Of finished erasures.
        snapshot_bytes: Of snapshots in the object store. They count in no limit. Left out: ``0``.
        runs: Runs. At most 100001 are counted. Left out: ``0``.
        episodes: Episodes. At most 100001 are counted. Left out: ``0``.
        context: Context. At most 100001 are counted. Left out: ``0``.
        working_keys: Working keys. At most 100001 are counted. Left out: ``0``.
        working_log_entries: Working log entries. At most 100001 are counted. Left out: ``0``.
        working_windows: Working windows. At most 100001 are counted. Left out: ``0``.
        working_turns: Working turns. At most 100001 are counted. Left out: ``0``.
        working_summaries: Working summaries. At most 100001 are counted. Left out: ``0``.
        blobs: Blobs. At most 100001 are counted. Left out: ``0``.
        snapshots: Snapshots. At most 100001 are counted. Left out: ``0``.
        archives: Archives. At most 100001 are counted. Left out: ``0``.
        workflows: Workflows. At most 100001 are counted. Left out: ``0``.
        workflow_outcomes: Workflow outcomes. At most 100001 are counted. Left out: ``0``.
        workflow_versions: Workflow versions. At most 100001 are counted. Left out: ``0``.
        tool_calls: Tool calls. At most 100001 are counted. Left out: ``0``.
        recalls: Recalls. At most 100001 are counted. Left out: ``0``.
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
    """What language models may cost. What is absent has no limit."""

    calls_per_day: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What calls of language models have cost.

    Attributes:
        calls_today: Of this day, which begins at midnight UTC.
        tokens_today: Of messages and answers, as the provider counts them.
    """

    calls_today: int
    tokens_today: int
    limits: ModelLimits


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """What one agent has.

    Attributes:
        memories: With those that have expired and are not pruned yet.
        bytes: Of all tiers together: what counts in the limit.
        bytes_by_tier: The parts of ``bytes``.
    """

    memories: int
    bytes: int
    bytes_by_tier: BytesByTier
    stores_this_minute: int
    limits: Limits
    agent_id: str


@dataclass(frozen=True, slots=True)
class Usages:
    """Usage of the tenant and of its agents.

    Attributes:
        tenant: Present where all agents were asked for.
        kept: Present where all agents were asked for.
        models: Present where all agents were asked for and a language model is set.
        agents: At most 1000, those with the most bytes first.
    """

    agents: tuple[AgentUsage, ...]
    tenant: Usage | None = None
    kept: Kept | None = None
    models: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent of which something is kept, or that was set.

    Attributes:
        memories: With those that have expired and are not pruned yet.
        bytes: Of all tiers together, as in its usage.
        first_stored_at: When its oldest memory was stored. Absent: it has none.
        last_stored_at: When its newest memory was stored. Absent: it has none.
    """

    agent_id: str
    memories: int
    bytes: int
    first_stored_at: datetime | None = None
    last_stored_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Agents:
    """Agents, by their ids.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    agents: tuple[ListedAgent, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A consolidation of the tenant's memories.

    Attributes:
        ended_at: Absent: it is under way, or was stopped and goes on with the next one.
        finished_at: The old name of ``ended_at``, given until the next version.
        undone_at: When it was undone.
        ms: How long it took, with all stops, in milliseconds.
        milliseconds: The old name of ``ms``, given until the next version.
        memories: Texts that were merged into others.
        facts: Facts that were merged into others.
        chains: Chains of superseded memories that lead straight to their ends since.
        tasks: Tasks that had expired and were deleted.
    """

    id: str
    started_at: datetime
    memories: int
    facts: int
    chains: int
    tasks: int
    ended_at: datetime | None = None
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    ms: int | None = None
    milliseconds: int | None = None


@dataclass(frozen=True, slots=True)
class Consolidations:
    """Consolidations, newest first."""

    consolidations: tuple[Consolidation, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """A memory that another one has taken the place of, or would.

    Attributes:
        kept_id: The memory that says all that it says.
        kind: One of ``memory``, ``fact``.
    """

    agent_id: str
    memory_id: str
    kept_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class ConsolidationForecast:
    """What the next consolidation would merge of an agent's memories word for word.

    Attributes:
        memories: Texts that would be merged into others.
        facts: Facts that would be merged into others.
        merges: The first 50 of them.
        at_least: Whether the agent has more than 5000 memories, of which the newest were looked at.
    """

    memories: int
    facts: int
    merges: tuple[Merged, ...]
    at_least: bool


@dataclass(frozen=True, slots=True)
class ConsolidationUndone:
    """What was taken back or, of a dry run, would be.

    Attributes:
        dry_run: Whether nothing was changed.
        memories: Memories and facts that hold again, or would.
        merges: The first 50 of them.
        more: Whether there is more, since one call has an end: call again.
    """

    consolidation_id: str
    dry_run: bool
    memories: int
    merges: tuple[Merged, ...]
    more: bool
