"""Types of memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Stored:
    """The memory is stored: every later recall finds it.

    Attributes:
        stored: Always true: a memory that is not stored is answered with a problem.
        kept: Present where the content was there already and some of it stays as it was: ``expires_at``, or
            ``metadata.`` and a key. Only an administrator's credential replaces them.
    """

    stored: bool = True
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote a memory.

    Attributes:
        channel: ``http``, ``mcp``, ``import``, or ``command``: an operator.
        credential_id: The credential's id, its claim ``jti``.
    """

    channel: str
    written_at: datetime
    credential_id: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory with everything that was stored of it.

    Attributes:
        source: Who wrote it, as the credential says and no field of a request does; absent for what was written before
            this was kept.
        later_keys: The metadata keys that came later, each with the id of the credential that brought it.
        superseded_at: When what replaced it was said: recalls give what holds now in its place. Absent: it holds.
        type: What it is, by what it states. Absent: a program keeps it, or its statements were not read yet. One of
            ``fact``, ``instruction``, ``event``, ``task``.
        forgotten_at: Since when no recall finds it, because it was forgotten. Absent: it is remembered.
        message_id: Present where it is a message that was ingested.
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
class DeletedMemories:
    """What was deleted or, of a dry run, would be.

    Attributes:
        dry_run: Whether nothing was changed.
        memories: Memories that were deleted with what was learned of them, or that would be.
        left: How many pass the filter now. To go on, confirm this number.
        at_least: Of a dry run: whether there are more, since at most 100,001 are counted.
        memory_ids: Of a dry run: the oldest 20 of them.
    """

    dry_run: bool
    memories: int
    left: int
    at_least: bool | None = None
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What one channel, or one cue, has to do with a score.

    Attributes:
        channel: ``lexical``: words of the query, in the memory or beside it in its session; ``vector``: meaning;
            ``synonyms``, ``hyde``, ``learned``: other words for it, nearness to a hypothetical answer, and that it was
            learned of messages, where a language model answers; ``key``: it has the topic, or states the fact, that the
            query asks for by name; ``beside``, ``session``: what neighbours and the best of the session have;
            ``names``: the query names who speaks; ``time``: the query names when it was; ``numbers``: it is about the
            thing that the query names by its number; ``recency``: it is recent, where that was asked; ``restated``:
            what a memory in ``also`` scores more; ``succession``: the part of a memory that states what no longer
            holds, where it states what does; ``reader``: how likely the reader finds that it answers, and what that
            adds to the score or takes from it; ``reranker``: a model has read the memory and the query, and its
            relevance is the whole score.
        weighted: Its share of the score; all shares add up to it.
        raw: In the channel's own measure.
        rank: The memory's rank in the channel, from 1.
    """

    channel: str
    weighted: float
    raw: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Restatement:
    """A memory that says the same as an entry, and is no entry of its own."""

    id: str
    created_at: datetime
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory found.

    Attributes:
        score: How likely it answers the query, or the reranker's relevance where one is set.
        similarity: Cosine similarity of the embeddings; null where only other channels found it.
        created_at: When it was stored.
        occurred_at: When what it says happened, as the store said; null: it was not said, and ``created_at`` is when it
            was stored. Of two entries that contradict each other the later holds.
        session_id: The conversation it comes from, as the store said; null: none was.
        source: Who wrote it, as the credential says and no field of a request does; absent for what was written before
            this was kept.
        findings: What the score is made of, where that was asked.
        also: The memories that say the same, the newest first, where ``collapse`` applies.
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
    also: tuple[Restatement, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one session, or a memory that has none.

    Attributes:
        session_id: The conversation; null: the only entry comes from none.
        score: How likely one of its entries answers: 1 - (1 - a)(1 - b)..., of their scores.
        entries: The ids of its entries, best first.
    """

    session_id: str | None
    score: float
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """What was found, best first.

    Attributes:
        entries: Best first; with ``group_by`` group after group, each best first.
        groups: What belongs together, best first, where ``group_by`` asked for it.
        agent: ``unknown`` where nothing was ever stored for this agent, and it was never set: look whether its id is
            the one that stores use. Absent: it is known.
        confidence: How likely it is that one of the best candidates answers the query: the score of the best.
        degraded: Present when the answer may not be all there is: why. ``index_unavailable``, ``embedder_unavailable``,
            ``lexical_unavailable``: this did not answer, and the other channels did (with ``strict`` that is an error).
            ``vectors_unreadable``: damaged vectors were left out. ``reader_unavailable``, ``reranker_unavailable``: the
            reader or the reranker did not answer in time, and the answer is the one without it. ``pending_bound``: of
            what is new only the newest was compared. ``filter_beyond_index``: the last entries match the filter, or are
            what ``for_model`` leaves, but their vectors were not compared with the query's.
    """

    entries: tuple[Entry, ...]
    confidence: float
    groups: tuple[Group, ...] = ()
    agent: str | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What of a question has to be another; what is not here stays as it was.

    Attributes:
        filter: The filter that is left.
    """

    query: str | None = None
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    collapse: bool | None = None
    as_of: datetime | None = None
    filter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """How a newer memory bears on an older one, as the reader has found.

    Attributes:
        name: What the newer does to the older. One of ``holds``, ``replaces``, ``ends``, ``restates``.
        probability: How likely it is that the older holds no longer.
        effect: ``hides``: the older is not returned; ``newer_first``: it comes behind the newer; null: nothing.
        version: The name of the reader's weights.
        compared_at: When it was recorded; null: this recall has compared them.
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
        rank: Among all that the recall has compared, before anything is left out.
        findings: What the score is made of; empty where no channel finds it.
        obstacles: What keeps it out, one behind the other: ``expired``; ``forgotten``; ``as_of``: it happened later;
            ``superseded``: another memory states what holds; ``filter``: it does not pass; ``collapse``: another one
            says the same; ``min_score``; ``max_tokens``: it does not fit; ``rank``: there are ``top_k`` better ones.
        change: The least change of the question that returns it, tried; null where it is returned or none does.
        degraded: As in the answer of a recall.
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
class ErasedCounts:
    """What was erased, by kind.

    Attributes:
        outbox_rows: Vectors on their way to the index.
        dead_letters: Of these, vectors the index had refused.
        messages: Messages that were ingested and were no memories yet. Left out: ``0``.
        runs: Runs. Left out: ``0``.
        episodes: Episodes. Left out: ``0``.
        context: Context. Left out: ``0``.
        working_keys: Working keys. Left out: ``0``.
        working_log_entries: Working log entries. Left out: ``0``.
        working_windows: Working windows. Left out: ``0``.
        working_turns: Working turns. Left out: ``0``.
        working_summaries: Working summaries. Left out: ``0``.
        blobs: Blobs. Left out: ``0``.
        snapshots: Snapshots. Left out: ``0``.
        archives: Archives. Left out: ``0``.
        workflows: Workflows. Left out: ``0``.
        workflow_outcomes: Workflow outcomes. Left out: ``0``.
        workflow_versions: Workflow versions. Left out: ``0``.
        tool_calls: Tool calls. Left out: ``0``.
        recalls: Recalls. Left out: ``0``.
    """

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
        finished_at: The old name of ``ended_at``, given until the next version.
        found_by_id: Vectors the index still shows under the erased ids: 0.
        found_by_search: Vectors and rows that a search of the scope still finds: 0. Where nothing was stored in the
            scope, ever or since its last receipt, the index is not searched again.
        history_until: Until when an operator can restore the database to before the erasure (D1 Time Travel).
    """

    ended_at: datetime
    erased: ErasedCounts
    found_by_id: int
    found_by_search: int
    finished_at: datetime | None = None
    history_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An erasure, and how far it is.

    Attributes:
        kind: Left out: ``erase``.
        status: One of ``running``, ``done``.
        agent_id: Whose memories are erased; absent: the whole tenant's.
        memories: Memories erased so far.
    """

    id: str
    status: str
    accepted_at: datetime
    memories: int
    kind: str = "erase"
    agent_id: str | None = None
    receipt: Receipt | None = None
