"""The run that writes memories: a batch of new ones.

D1 does not promise over REST that a batch of statements is one transaction, so every prefix of a run has to be
harmless: its statements come in the order in which they are listed here (docs/reliability.md).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.author import Author
from app.domain.claim import Stated
from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs, Vector, encode
from app.domain.json_types import Json, to_json
from app.domain.memory import CONTENT_FIELDS, MORE_FIELDS, Memory, Scope, Tenant
from app.domain.quotas import Defaults
from app.ports.database import NOW
from app.storage.ingestions import Ingestions
from app.storage.messages import unstage
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement
from app.storage.tiers.run_log import note_stored
from app.storage.what_holds import living

# A learned memory is written while each of its messages is a memory (an import brings those later), and only where no
# other memory has its content: a memory that was said or stored keeps its author.
_MAY_BE_WRITTEN = """
(line.value -> 'sources' IS NULL OR NOT EXISTS (
  SELECT 1 FROM long_term_memory AS held
  WHERE held.tenant_id = ?1 ->> 'tenant_id' AND held.agent_id = line.value ->> 'agent_id'
    AND held.content_hash = line.value ->> 'content_hash' AND held.id <> line.value ->> 'id'
) AND (NOT ?1 ->> 'is_store' OR NOT EXISTS (
  SELECT 1 FROM json_each(line.value, '$.sources') AS wanted WHERE NOT EXISTS (
    SELECT 1 FROM long_term_memory AS said
    WHERE said.tenant_id = ?1 ->> 'tenant_id' AND said.agent_id = line.value ->> 'agent_id'
      AND said.message_id = wanted.value AND NOT EXISTS (
        SELECT 1 FROM outbox AS removed
        WHERE removed.tenant_id = ?1 ->> 'tenant_id' AND removed.agent_id = said.agent_id AND removed.id = said.id
          AND removed.operation = 'delete'
      )
  )
)))
"""
# The memory that has a line's content; for a learned memory's line, only that memory itself.
_OF_LINE = """
memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
  AND memory.content_hash = line.value ->> 'content_hash'
  AND (line.value -> 'sources' IS NULL OR memory.id = line.value ->> 'id')
"""
# The run enters the gate here (schema.sql). Should it stop behind this, a store was counted and nothing else has
# happened.
_ADMIT = """
INSERT INTO write_admission (tenant_id, agent_id, id, content_hash, content_bytes, metadata, merged_from,
  was_expired, written_by, issued_at, undoes, is_store, key, active, shadow, limits, before)
SELECT ?1 ->> 'tenant_id', line.value ->> 'agent_id', line.value ->> 'id', line.value ->> 'content_hash',
  line.value ->> 'content_bytes', line.value ->> 'metadata', line.value ->> 'merged_from',
  line.value ->> 'was_expired', ?1 ->> '$.author.by', ?1 ->> '$.author.issued_at', line.value ->> 'undoes',
  ?1 ->> 'is_store', ?1 ->> 'key', ?1 ->> '$.configs.active', ?1 ->> '$.configs.shadow', ?1 ->> 'limits',
  line.value ->> 'before'
FROM json_each(?1, '$.lines') AS line
"""
# A vector is queued for each index where the memory is new and its vector is not written within the run, where its
# vector has not been delivered, and where the index filters on metadata that has changed; a null in place of the keys
# stands for all keys. Should the run stop behind this statement, no recall finds a queued vector without a memory.
_QUEUE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at, in_bulk)
SELECT ?1 ->> 'tenant_id', line.value ->> 'agent_id', coalesce(present.id, line.value ->> 'id'), made.key, 'upsert',
  {NOW}, made.value, {NOW} + {GRACE_MS}, ?1 ->> 'in_bulk'
FROM json_each(?1, '$.lines') AS line JOIN json_each(line.value, '$.vectors') AS made
LEFT JOIN long_term_memory AS present
  ON present.tenant_id = ?1 ->> 'tenant_id' AND present.agent_id = line.value ->> 'agent_id'
  AND present.content_hash = line.value ->> 'content_hash'
LEFT JOIN outbox AS queued
  ON queued.tenant_id = ?1 ->> 'tenant_id' AND queued.agent_id = present.agent_id AND queued.id = present.id
  AND queued.index_name = made.key
WHERE {_MAY_BE_WRITTEN} AND (
  (present.id IS NULL AND NOT (?1 ->> 'within' AND line.value ->> 'undoes' = 0))
  OR (queued.id IS NOT NULL AND queued.acknowledged_at IS NULL) OR EXISTS (
    SELECT 1 FROM json_each(?1, '$.filterable') AS key
    WHERE iif(key.value IS NULL, present.metadata <> line.value ->> 'metadata',
      present.metadata -> ('$."' || key.value || '"')
        IS NOT line.value ->> 'metadata' -> ('$."' || key.value || '"'))
  )
)
{QUEUED_AGAIN}
RETURNING id, index_name, revision
"""
_CONTENT_OF_LINE = ", ".join(f"line.value ->> '{name}'" for name in CONTENT_FIELDS)
# A field that is given again is filled where it was empty; an expired memory keeps none of its fields.
_MORE_AGAIN = "".join(
    f"{name} = iif(expires_at <= {NOW}, excluded.{name}, coalesce({name}, excluded.{name})), " for name in MORE_FIELDS
)
# The second conflict is that of a run which is made again after its memory was superseded: nothing changes.
_INSERT = f"""
INSERT INTO long_term_memory (tenant_id, agent_id, id, {", ".join(CONTENT_FIELDS)}, content_hash, segments,
  embedding_provider, embedding_model, embedding_dimensions, created_at, expires_at, later_keys,
  speaker_holds, speakers, written_by, written_through, written_at, statements_read, type, forgotten_at, message_id,
  learned, run_id)
SELECT ?1 ->> 'tenant_id', line.value ->> 'agent_id', line.value ->> 'id',
  {_CONTENT_OF_LINE}, line.value ->> 'content_hash', line.value ->> 'segments',
  ?1 ->> '$.config.provider', ?1 ->> '$.config.model', ?1 ->> '$.config.dimensions',
  line.value ->> 'created_at',
  coalesce(line.value ->> 'expires_at', (
    SELECT {NOW} + agent.retention_seconds * 1000 FROM agent
    WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = line.value ->> 'agent_id' AND ?1 ->> 'is_store'
  )), line.value ->> 'later_keys', line.value ->> 'speaker_holds', ?1 ->> '$.author.speakers',
  ?1 ->> '$.author.by', ?1 ->> '$.author.through', ?1 ->> '$.author.at', line.value ->> 'statements_read',
  line.value ->> 'type', line.value ->> 'forgotten_at',
  line.value ->> 'message_id', line.value ->> 'learned',
  coalesce(line.value ->> 'run_id', (
    SELECT brought.run_id FROM ingestion AS brought
    WHERE brought.tenant_id = ?1 ->> 'tenant_id' AND brought.agent_id = line.value ->> 'agent_id'
      AND brought.id = ?1 ->> 'ingestion_id'
  ))
FROM json_each(?1, '$.lines') AS line WHERE {_MAY_BE_WRITTEN}
ON CONFLICT (tenant_id, agent_id, content_hash) DO UPDATE SET
  metadata = excluded.metadata,
  later_keys = coalesce(excluded.later_keys, later_keys),
  forgotten_at = iif(?1 ->> 'remembers', NULL, forgotten_at),
  forgotten_by = iif(?1 ->> 'remembers', NULL, forgotten_by),
  message_id = coalesce(message_id, excluded.message_id),
  (learned, type, statements_read) = (
    SELECT NULL, excluded.type, excluded.statements_read WHERE learned IS NOT NULL AND excluded.learned IS NULL
    UNION ALL SELECT learned, type, statements_read LIMIT 1
  ),
  {_MORE_AGAIN}
  (expires_at, speaker_holds, speakers, written_by, written_through, written_at, run_id) = (
    SELECT excluded.expires_at, excluded.speaker_holds, excluded.speakers, excluded.written_by,
      excluded.written_through, excluded.written_at, excluded.run_id WHERE expires_at <= {NOW}
    UNION ALL
    SELECT iif(?1 ->> 'changes', expires_at,
        iif(?1 ->> '$.author.may_replace', excluded.expires_at, max(expires_at, excluded.expires_at))),
      iif(metadata -> '$.speaker' IS excluded.metadata -> '$.speaker', speaker_holds, excluded.speaker_holds),
      speakers, written_by, written_through, written_at, run_id
    LIMIT 1
  )
ON CONFLICT (id) DO UPDATE SET metadata = long_term_memory.metadata
  WHERE long_term_memory.tenant_id = excluded.tenant_id AND long_term_memory.agent_id = excluded.agent_id
RETURNING id, created_at, agent_id, content_hash, expires_at
"""
# Other metadata may name another speaker: then the memory states something else.
_UNCLAIM = """
DELETE FROM claim WHERE (tenant_id, agent_id, key, happened_at, memory_id) IN (
  SELECT old.tenant_id, old.agent_id, old.key, old.happened_at, old.memory_id
  FROM json_each(?1, '$.lines') AS line CROSS JOIN long_term_memory AS memory CROSS JOIN claim AS old
  WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
    AND memory.content_hash = line.value ->> 'content_hash'
    AND old.tenant_id = ?1 ->> 'tenant_id' AND old.agent_id = memory.agent_id AND old.memory_id = memory.id
    AND old.key NOT GLOB '~*'
    AND old.key NOT IN (SELECT stated.value ->> 'key' FROM json_each(line.value, '$.claims') AS stated)
)
"""
# The claims of the memories (schema.sql). Should the run stop before them, recalls find the memories beside those that
# they correct.
_CLAIM = f"""
INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
SELECT memory.tenant_id, memory.agent_id, stated.value ->> 'key', memory.happened_at, memory.id,
  stated.value ->> 'value', line.value ->> 'whole'
FROM json_each(?1, '$.lines') AS line JOIN json_each(line.value, '$.claims') AS stated
  CROSS JOIN long_term_memory AS memory
WHERE {_OF_LINE}
ON CONFLICT DO NOTHING
"""
# A run that is made twice may leave two rows: it was attempted twice.
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, ?1 ->> 'event',
  iif(memory.expires_at IS NULL, line.value ->> 'detail',
    json_set(line.value ->> 'detail', '$.expires_at', memory.expires_at)), ?1 ->> '$.author.at', ?1 ->> '$.author.by'
FROM json_each(?1, '$.lines') AS line CROSS JOIN long_term_memory AS memory WHERE {_OF_LINE}
"""
# The run counts the vectors for the shadow config that were not made: they are copied later.
_LEAVE_OUT = "UPDATE reembedding SET left_out = left_out + ?1 ->> 'left_out'"
# Should the run stop before this statement, a store made again finds the same memory by its content.
_REMEMBER = f"""
INSERT INTO idempotency (tenant_id, agent_id, key, request_hash, memory_id, created_at)
SELECT memory.tenant_id, memory.agent_id, ?1 ->> 'key', ?1 ->> 'request_hash', memory.id, {NOW}
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.content_hash = ?1 ->> 'content_hash'
ON CONFLICT (tenant_id, agent_id, key) DO UPDATE SET
  request_hash = excluded.request_hash, memory_id = excluded.memory_id, created_at = excluded.created_at
"""

_REMEMBERED = """
SELECT used.request_hash, used.memory_id FROM idempotency AS used
WHERE used.tenant_id = ?1 ->> 'tenant_id' AND used.agent_id = ?1 ->> 'agent_id' AND used.key = ?1 ->> 'key'
"""
_PRESENT = f"""
SELECT memory.metadata, memory.metadata AS metadata_json, memory.later_keys, NOT {living("memory")} AS expired
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.content_hash = ?1 ->> 'content_hash'
"""


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """One memory to be written, with its vectors by index name and the detail of its row in the audit."""

    memory: Memory
    vectors: Mapping[str, Vector]
    detail: Mapping[str, Json]
    undoes: int = 0
    """The revision of a deletion of the same id that is under way; 0: there is none."""
    merged_from: str | None = None
    """The metadata of the agent's memory of this content that was read before this line was made."""
    was_expired: bool = False
    """Whether that memory had expired."""
    later_keys: Mapping[str, str] | None = None
    """The new value of ``long_term_memory.later_keys``; None: it stays."""
    stated: Stated = field(default_factory=Stated)
    """The claims and the type of its content, and whether its statements wait for a reader."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories of one tenant that are written in one run, with the configs that their vectors were made for."""

    tenant: Tenant
    lines: Sequence[MemoryWrite]
    configs: EmbeddingConfigs
    now: int
    defaults: Defaults
    """The limits of an agent and of the tenant where the operator has set no others."""
    author: Author
    is_store: bool
    """A store is one line. An import's lines neither count as stores nor take the agent's retention; those of an
    ingestion do."""
    filterable: Collection[str] | None = None
    """The metadata keys that the index filters on; None: all."""
    key: str | None = None
    request_hash: str = ""
    ingestion: Ingestions | None = None
    """The ingestion whose messages the lines are; None: the lines are no messages."""
    beside: Sequence[ScopedStatement] = ()
    """The further statements of the same run, which come once the memories are there."""
    insertions: Sequence[ScopedStatement] | None = None
    """The statements that write the vectors of new memories in the same run; None: they are queued for the index."""
    run_id: str | None = None
    """The run under which a store is made."""
    changes: bool = False
    """Whether it is a change of a memory that is there: its end stays, and what was forgotten meanwhile stays so."""
    leaving_bytes: int = 0
    """The bytes that the quota counts of the messages which become memories: they go once the memories are written."""

    @property
    def is_bulk(self) -> bool:
        """Whether the batch is of an import or of an ingestion."""
        return not self.is_store or self.ingestion is not None

    @property
    def agents(self) -> list[str]:
        """The agents whose memories the batch has, in order."""
        return sorted({line.memory.scope.agent_id for line in self.lines})

    @property
    def event(self) -> str:
        """The name of the batch's event in the audit."""
        return "ingested" if self.ingestion is not None else "stored" if self.is_store else "imported"


def write(batch: Batch) -> list[ScopedStatement]:
    """Make the run that writes a batch; ``RunRefused`` names the reason where the run is refused.

    The second statement returns a row for each vector that it has queued: the memory's ``id``, its ``index_name`` and
    ``revision``. The third returns ``id`` and ``created_at`` of the memories that now hold the content: no row for a
    learned memory that is not written, since another one has its content or one of its messages is no memory any more.
    """
    tenant, lines = batch.tenant, batch.lines
    left_out = sum(len(line.vectors) < len(batch.configs.configs) for line in lines)
    return [
        ScopedStatement.write(
            tenant,
            _ADMIT,
            is_store=batch.is_store,
            key=batch.key,
            author=_signed(batch.author, batch.now),
            limits=batch.defaults.limits,
            configs=batch.configs.argument,
            lines=_admitted(lines, batch.leaving_bytes),
        ),
        ScopedStatement.write(
            tenant,
            _QUEUE,
            is_store=batch.is_store,
            in_bulk=int(not batch.is_store),
            within=batch.insertions is not None,
            filterable=[None] if batch.filterable is None else sorted(batch.filterable),
            lines=[_named(line) | _queued(line) for line in lines],
        ),
        insert(
            tenant,
            lines,
            batch.configs.active,
            batch.author,
            batch.now,
            is_store=batch.is_store,
            ingestion=batch.ingestion,
            changes=batch.changes,
        ),
        *(batch.insertions or []),
        ScopedStatement.write(
            tenant,
            _AUDIT,
            event=batch.event,
            author=_signed(batch.author, batch.now),
            lines=[_named(line) | {"detail": to_json(line.detail)} for line in lines],
        ),
        *([ScopedStatement.write(tenant, _LEAVE_OUT, left_out=left_out)] if left_out else []),
        *([] if batch.key is None else [_remember(lines[0].memory, batch.key, batch.request_hash)]),
        *_claim(tenant, lines),
        *_take_from(batch.ingestion, lines),
        *_noted(batch),
        *batch.beside,
    ]


def insert(  # noqa: PLR0913 - what a batch says of its lines
    tenant: Tenant,
    lines: Sequence[MemoryWrite],
    config: EmbeddingConfig,
    author: Author,
    now: int,
    *,
    is_store: bool = False,
    ingestion: Ingestions | None = None,
    changes: bool = False,
) -> ScopedStatement:
    """Add memories, or give those that have the same content the new metadata and, where it may be, the new expiry.

    A store takes the mark of a forgotten memory away, unless it ``changes`` what is there. A memory that an
    ``ingestion`` brought has the ingestion's run.

    Returns ``id``, ``created_at``, ``expires_at``, ``agent_id`` and ``content_hash`` of the memories that now hold the
    content.
    """
    written: list[Json] = [_named(line) | _written(line, author) for line in lines]
    signed = _signed(author, now)
    return ScopedStatement.write(
        tenant,
        _INSERT,
        config=config.argument,
        author=signed,
        is_store=is_store,
        remembers=is_store and ingestion is None and not changes,
        changes=changes,
        ingestion_id=None if ingestion is None else ingestion.id,
        lines=written,
    )


def remembered(scope: Scope, key: str | None) -> ScopedStatement:
    """Read ``request_hash`` and ``memory_id`` of the store that used a key."""
    return ScopedStatement.read(scope, _REMEMBERED, key=key)


def present(scope: Scope, content_hash: str) -> ScopedStatement:
    """Read the memory with this content, if there is one, in the columns of ``stored_again.ExistingMemory``."""
    return ScopedStatement.read(scope, _PRESENT, content_hash=content_hash)


def _claim(tenant: Tenant, lines: Sequence[MemoryWrite]) -> list[ScopedStatement]:
    """Add the claims of the memories; of those whose metadata were merged, delete claims that they no longer state."""
    merged = [line for line in lines if line.merged_from is not None]
    stating = [line for line in lines if line.stated.claims]
    return [
        ScopedStatement.write(tenant, sql, lines=[_stated(line) for line in written])
        for sql, written in ((_UNCLAIM, merged), (_CLAIM, stating))
        if written
    ]


def _take_from(ingestion: Ingestions | None, lines: Sequence[MemoryWrite]) -> list[ScopedStatement]:
    """Drop the messages that have become memories. Should the run stop before this, the next one finds them written."""
    if ingestion is None:
        return []
    ids = [line.memory.message_id for line in lines if line.memory.message_id is not None]
    return [unstage(ingestion.scope, ids), ingestion.count()]


def _noted(batch: Batch) -> list[ScopedStatement]:
    """Note a store in the log of its run."""
    if batch.run_id is None:
        return []
    memory = batch.lines[0].memory
    return [note_stored(memory.scope, batch.run_id, memory.id, memory.content_hash)]


def _stated(line: MemoryWrite) -> dict[str, Json]:
    claims: list[Json] = [{"key": claim.key, "value": claim.value} for claim in line.stated.claims]
    return _named(line) | {"whole": int(all(claim.whole for claim in line.stated.claims)), "claims": claims}


def _named(line: MemoryWrite) -> dict[str, Json]:
    memory = line.memory
    named: dict[str, Json] = {
        "agent_id": memory.scope.agent_id,
        "id": memory.id,
        "content_hash": memory.content_hash,
    }
    return named if memory.learned is None else named | {"sources": list(memory.learned.message_ids)}


def _admitted(lines: Sequence[MemoryWrite], leaving: int) -> list[Json]:
    """Return the lines as the gate takes them; bytes that are leaving are not held against them."""
    admitted: list[Json] = []
    for line, total in zip(lines, totals([line.memory for line in lines]), strict=True):
        memory = line.memory
        size = memory.content_bytes + memory.metadata_bytes
        before: dict[str, Json] = {
            scope: [count - 1, added - size - leaving] for scope, (count, added) in total.items()
        }
        admission: dict[str, Json] = {
            "content_bytes": memory.content_bytes,
            "metadata": memory.metadata_json,
            "merged_from": line.merged_from,
            "was_expired": line.was_expired,
            "undoes": line.undoes,
            "before": before,
        }
        admitted.append(_named(line) | admission)
    return admitted


def _read_so_far(stated: Stated) -> int | None:
    """Return the first value of ``long_term_memory.statements_read``: None where claims follow, which then set it.

    Such a memory waits for a reader (schema.sql). Should the run stop before its claims, they are added later.
    """
    if stated.claims:
        return None
    return 0 if stated.waits else 1


def _signed(author: Author, now: int) -> dict[str, Json]:
    return {
        "by": author.credential_id,
        "issued_at": author.issued_at,
        "through": author.channel,
        "at": now,
        "may_replace": author.may_replace,
        "speakers": None if author.speakers is None else to_json(sorted(author.speakers)),
    }


def _queued(line: MemoryWrite) -> dict[str, Json]:
    vectors: dict[str, Json] = {index_name: encode(vector) for index_name, vector in line.vectors.items()}
    return {"metadata": line.memory.metadata_json, "vectors": vectors, "undoes": line.undoes}


def _written(line: MemoryWrite, author: Author) -> dict[str, Json]:
    memory = line.memory
    may_speak = author.may_speak_in(memory.content, memory.metadata)
    if memory.learned is not None:
        may_speak = author.speakers is None  # it is not known about whom a topic is
    return {
        **{name: getattr(memory, name) for name in CONTENT_FIELDS},
        "segments": memory.segments,
        "metadata": memory.metadata_json,
        "created_at": memory.created_at,
        "expires_at": memory.expires_at,
        "later_keys": None if line.later_keys is None else to_json(dict(line.later_keys)),
        "speaker_holds": may_speak,
        "statements_read": _read_so_far(line.stated),
        "type": line.stated.type,
        "forgotten_at": memory.forgotten_at,
        "message_id": memory.message_id,
        "learned": None if memory.learned is None else memory.learned.json,
        "run_id": memory.run_id,
    }


def _remember(memory: Memory, key: str, request_hash: str) -> ScopedStatement:
    return ScopedStatement.write(
        memory.scope, _REMEMBER, content_hash=memory.content_hash, key=key, request_hash=request_hash
    )


def totals(memories: Sequence[Memory]) -> list[dict[str, tuple[int, int]]]:
    """Return for each memory the number and the bytes of the memories up to it, of its agent and in all."""
    seen: dict[str, tuple[int, int]] = {}
    running: list[dict[str, tuple[int, int]]] = []
    for memory in memories:
        size = memory.content_bytes + memory.metadata_bytes
        for name in (memory.scope.agent_id, ""):
            count, total = seen.get(name, (0, 0))
            seen[name] = (count + 1, total + size)
        running.append({"agent": seen[memory.scope.agent_id], "tenant": seen[""]})
    return running
