-- The schema of a database, as all of its migrations leave it. A fresh database gets it by this file alone, in runs of
-- as many statements as D1 takes (migrations/runner.py); a database that is there already gets it by the migrations
-- that it lacks. A new migration changes this file too: tests/storage/test_schema.py compares the two
-- (docs/contributing.md).
--
-- Times are milliseconds since the Unix epoch, UTC. The CHECK constraints restate the limits of app/domain/limits.py:
-- no writer can get past them. The indexes and triggers of a table are in the order in which they were added: triggers
-- of one event run from the last to the first.


-- === Memories

CREATE TABLE long_term_memory (
  id TEXT PRIMARY KEY CHECK (length(id) = 26 AND id NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
  tenant_id TEXT NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 64 AND tenant_id NOT GLOB '*[^A-Za-z0-9._:-]*'),
  agent_id TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 64 AND agent_id NOT GLOB '*[^A-Za-z0-9._:-]*'),
  content TEXT NOT NULL CHECK (trim(content) <> '' AND length(CAST(content AS BLOB)) <= 32768),
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64 AND content_hash NOT GLOB '*[^0-9a-f]*'),
  metadata TEXT NOT NULL CHECK (
    json_valid(metadata) AND json_type(metadata) = 'object' AND length(CAST(metadata AS BLOB)) <= 10240
  ),
  session_id TEXT CHECK (length(CAST(session_id AS BLOB)) BETWEEN 1 AND 256),
  occurred_at INTEGER,
  embedding_provider TEXT NOT NULL CHECK (embedding_provider <> ''),
  embedding_model TEXT NOT NULL CHECK (embedding_model <> ''),
  embedding_dimensions INTEGER NOT NULL CHECK (embedding_dimensions > 0),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  -- The words of texts that FTS5 would not split as it should, made by app/language; NULL: not made yet.
  segments TEXT,
  -- When it happened, as far as is known: the order of a session, in which memories explain each other.
  happened_at INTEGER AS (coalesce(occurred_at, created_at)) VIRTUAL,
  -- The id of the credential that wrote the memory, its channel (http, mcp, import, command, console), and when, by the
  -- service's clock. NULL: the memory was written before the columns existed.
  written_by TEXT,
  written_through TEXT,
  written_at INTEGER,
  -- The metadata keys that were added or replaced since, each with the id of the credential that wrote it.
  later_keys TEXT CHECK (later_keys IS NULL OR json_valid(later_keys)),
  -- Whether the credential was good for the speaker whom the memory names.
  speaker_holds INTEGER NOT NULL DEFAULT 1 CHECK (speaker_holds IN (0, 1)),
  -- When its successor was said; NULL: the memory holds.
  superseded_at INTEGER,
  -- Whether its statements were read; NULL: the memory is older than claims, or its run stopped before them: a job
  -- reads it again.
  statements_read INTEGER,
  -- The hash of a superseded memory, whose content may be stored once more: "Rome, Oslo, Rome again" is three memories.
  -- content_hash makes room then, unless the hash is of a moment too: a memory of a moment was said once. When the
  -- memory holds again, its hash comes back as soon as no other memory has it: of all memories of one content that
  -- hold, one has the hash.
  identity TEXT,
  -- The type of what the memory says, as far as rules know; NULL: its statements were not read yet.
  type TEXT CHECK (type IN ('fact', 'instruction', 'event', 'task')),
  -- When it was forgotten: no recall finds it, and that can be taken back. NULL: it is remembered.
  forgotten_at INTEGER,
  -- The credential that had the memory forgotten: an undo of the credential takes that back too.
  forgotten_by TEXT,
  -- Of a memory that is a message: the first 128 bits of SHA-256 over session, role and content, in hex. Ingesting the
  -- message again finds it by this.
  message_id TEXT,
  -- Of a memory that a model made of messages: {"message_ids": [...], "topic": ..., "search_queries": [...]}. NULL: the
  -- memory has the words in which it was stored.
  learned TEXT,
  -- A learned memory is superseded or forgotten while the memory of one of its messages is. These two columns name that
  -- memory, of several the one that was superseded or forgotten first. NULL: by itself, or not at all.
  superseded_with TEXT,
  forgotten_with TEXT,
  -- The speakers for whom alone its author may speak, as JSON; NULL: the author may speak for anybody. A memory with
  -- speakers replaces no memory of other speakers.
  speakers TEXT,
  -- The run under which a memory was written first. The messages of an ingestion, and the memories learned of them,
  -- have the ingestion's run.
  run_id TEXT
) STRICT;
CREATE UNIQUE INDEX long_term_memory_content ON long_term_memory (tenant_id, agent_id, content_hash);
CREATE INDEX long_term_memory_newest ON long_term_memory (tenant_id, agent_id, created_at DESC);
CREATE INDEX long_term_memory_of_tenant ON long_term_memory (tenant_id, created_at DESC, id DESC);
CREATE INDEX long_term_memory_expiry ON long_term_memory (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX long_term_memory_unsegmented ON long_term_memory (id) WHERE segments IS NULL;
CREATE INDEX long_term_memory_session ON long_term_memory (tenant_id, agent_id, session_id, happened_at)
WHERE session_id IS NOT NULL;
CREATE INDEX long_term_memory_happened ON long_term_memory (tenant_id, agent_id, happened_at);
CREATE INDEX long_term_memory_writer ON long_term_memory (tenant_id, written_by, created_at DESC, id DESC)
WHERE written_by IS NOT NULL;
CREATE INDEX long_term_memory_later ON long_term_memory (tenant_id, id) WHERE later_keys IS NOT NULL;
CREATE INDEX long_term_memory_unread ON long_term_memory (id) WHERE statements_read IS NULL;
CREATE INDEX long_term_memory_identity ON long_term_memory (tenant_id, agent_id, identity) WHERE identity IS NOT NULL;
CREATE INDEX long_term_memory_forgotten ON long_term_memory (tenant_id, forgotten_by, id) WHERE forgotten_by IS NOT NULL;
CREATE INDEX long_term_memory_message ON long_term_memory (tenant_id, agent_id, message_id) WHERE message_id IS NOT NULL;
-- The facts that a run has taught are found by the run that their metadata name (docs/tiers.md). This is an index, and
-- no table that triggers keep: a memory that names no run costs one look at its metadata.
CREATE INDEX long_term_memory_taught
ON long_term_memory (tenant_id, (metadata ->> '$.fact.learned_from_run_id'), id)
WHERE metadata ->> '$.fact.learned_from_run_id' IS NOT NULL;
-- statements_read is 0 where a reader is still to compare the memory with those around it. A process without a reader
-- leaves the memory to a process that has a reader.
CREATE INDEX long_term_memory_uncompared ON long_term_memory (id) WHERE statements_read = 0;
CREATE INDEX long_term_memory_of_run ON long_term_memory (tenant_id, run_id, id) WHERE run_id IS NOT NULL;
-- The facts of a predicate are found by this, and by the relation of their claim's key.
CREATE INDEX long_term_memory_told ON long_term_memory (tenant_id, agent_id, (metadata ->> '$.fact.predicate'))
WHERE metadata ->> '$.fact.predicate' IS NOT NULL;
-- A profile's memories of one type, newest first.
CREATE INDEX long_term_memory_typed ON long_term_memory (tenant_id, agent_id, type, created_at DESC) WHERE type IS NOT NULL;

CREATE TRIGGER long_term_memory_created_at_is_final
BEFORE UPDATE OF created_at ON long_term_memory
BEGIN
  SELECT RAISE(ABORT, 'created_at may not change');
END;

-- A change of a memory stores it again. The run of that store is refused where the memory has another moment meanwhile:
-- it would make a second memory (app/storage/redating.py).
CREATE VIEW memory_expected AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS content_hash;

CREATE TRIGGER memory_expected_checked INSTEAD OF INSERT ON memory_expected
BEGIN
  SELECT RAISE(ABORT, 'moved')
  WHERE NOT EXISTS (
    SELECT 1 FROM long_term_memory AS expected
    WHERE expected.tenant_id = new.tenant_id AND expected.agent_id = new.agent_id AND expected.id = new.id
      AND expected.content_hash = new.content_hash
  );
END;


-- === What the index of vectors is told
-- Times are by the database's own clock, except acknowledged_at: by the index's.

-- The changes of vectors that an index has still to take, one row for a memory and an index: a vector is queued for
-- each config's index. A row lives until its revision is known to be visible in the index. The revision is the
-- database's clock when the change was queued, and always greater than that of the row before.
CREATE TABLE outbox (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  index_name TEXT NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('upsert', 'delete')),
  revision INTEGER NOT NULL CHECK (revision > 0),
  vector TEXT CHECK ((vector IS NOT NULL) = (operation = 'upsert')),
  acknowledged_at INTEGER,
  -- Known to be visible in the index; still scored by recall for a while (docs/reliability.md).
  confirmed_at INTEGER,
  -- How often the index has refused this vector itself, and the index's last refusal once the vector is no longer sent.
  refusals INTEGER NOT NULL DEFAULT 0,
  dead TEXT,
  -- When the indexer is to deal with the row; 2^53 - 1: not before a command asks for it.
  due_at INTEGER NOT NULL DEFAULT 0,
  -- Whether a vector was queued by an import or by a job, and not by a store. A recall reads far fewer of these.
  in_bulk INTEGER NOT NULL DEFAULT 0 CHECK (in_bulk IN (0, 1)),
  PRIMARY KEY (tenant_id, agent_id, id, index_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (due_at);
-- An import asks of every id whether its removal from the index is still under way, in whatever scope.
CREATE INDEX outbox_deletes ON outbox (id) WHERE operation = 'delete';
CREATE INDEX outbox_newest ON outbox (tenant_id, agent_id, index_name, in_bulk, revision) WHERE operation = 'upsert';

-- The one embedding config that the vectors of this database are made with.
CREATE TABLE embedding_in_use (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  -- The number of changes of the config in use or of the one beside it: of two reads the later one has the greater
  -- number.
  epoch INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The configs that are up to date, each with its own index: the one in use, and while the data is being re-embedded another.
CREATE TABLE embedding_config (
  index_name TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The re-embedding under way. Its target is complete when no store has had to leave its vector out since the copy that
-- ended last began.
CREATE TABLE reembedding (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  left_out INTEGER NOT NULL DEFAULT 0,
  complete_at INTEGER,
  parity TEXT CHECK (parity IS NULL OR json_valid(parity))
) STRICT;

-- Where the cosines of an embedding config lie, measured with pairs of sentences when it was first used
-- (app/indexing/cosine_scales.py). probes: which sentences, and with which prefix; with others it is measured again.
CREATE TABLE cosine_scale (
  index_name TEXT NOT NULL,
  probes TEXT NOT NULL,
  unrelated REAL NOT NULL,
  spread REAL NOT NULL,
  related REAL NOT NULL,
  PRIMARY KEY (index_name, probes)
) STRICT, WITHOUT ROWID;

-- Vector indexes that are being made: until a probe is found through every filter, nothing else is sent to them.
-- The row is written before the index is created, and deleted after vectors acknowledged meanwhile are queued again.
CREATE TABLE index_build (
  index_name TEXT PRIMARY KEY,
  began_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where a comparison of the index with the database is, and the ids that the index has listed so far.
CREATE TABLE reconcile (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('listing', 'missing', 'comparing')),
  cursor TEXT,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  -- Whether all parts of the comparison so far have repaired what they found: a comparison that repairs does not go on
  -- with one that only looked, since the differences found by that one would stay.
  repairs INTEGER NOT NULL DEFAULT FALSE CHECK (repairs IN (FALSE, TRUE))
) STRICT;

CREATE TABLE reconcile_listed (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;


-- === Agents, and the names under which profiles are asked for

-- The settings of an agent, by an administrator of the tenant.
CREATE TABLE agent (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  -- How long its memories live where a store does not say; NULL: for ever.
  retention_seconds INTEGER CHECK (retention_seconds IS NULL OR retention_seconds > 0),
  -- An administrator may switch off its long-term memory; what it holds stays.
  long_term_enabled INTEGER NOT NULL DEFAULT 1 CHECK (long_term_enabled IN (0, 1)),
  -- Which tools an agent is given: recall_memory and store_memory, or remember, recall, forget and list.
  tools TEXT NOT NULL DEFAULT 'recall_store' CHECK (tools IN ('recall_store', 'profile')),
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- A call of a tool is refused where its agent is given other tools (agent.tools). A call that writes is refused in the
-- run itself, whose first statement inserts a row here (app/storage/tool_calls.py).
CREATE VIEW tool_call AS
SELECT NULL AS tenant_id, NULL AS agent_id,
  -- The set that the tool is in.
  NULL AS tools;

CREATE TRIGGER tool_call_checked INSTEAD OF INSERT ON tool_call
BEGIN
  SELECT RAISE(ABORT, 'not_given')
  WHERE new.tools <> coalesce(
    (SELECT agent.tools FROM agent WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id),
    'recall_store'
  );
END;

-- Cloudflare's Agent Memory names a store by a namespace and a profile. Each pair is one agent.
CREATE TABLE namespace (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 32),
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX profile_by_name ON profile (tenant_id, namespace, name);


-- === Who may read and write

-- Revoked credentials: one by its id, or with the id '' all of a tenant that were issued before a moment. revoked_at is
-- later in each row than in those before it, so that a replica reads only the new rows.
CREATE TABLE revocation (
  tenant_id TEXT NOT NULL,
  credential_id TEXT NOT NULL,
  issued_before INTEGER,
  revoked_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, credential_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX revocation_order ON revocation (revoked_at);

-- The credentials that were minted here or seen in use (docs/decisions/0075-credentials-narrow-and-listed.md). Whether one was
-- revoked is said by revocation alone. speakers: a JSON array; [] where an erasure of the tenant took the names away. channel: by
-- what it was minted, with minted_by the credential that did it; NULL: it was recorded when it was first used.
CREATE TABLE credential (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  agent_id TEXT,
  scopes TEXT NOT NULL,
  speakers TEXT,
  requests_per_minute INTEGER,
  channel TEXT,
  minted_by TEXT,
  minted_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX credential_newest ON credential (tenant_id, minted_at, id);
CREATE INDEX credential_of_agent ON credential (tenant_id, agent_id, minted_at, id);
CREATE INDEX credential_of_minter ON credential (tenant_id, minted_by, minted_at, id) WHERE minted_by IS NOT NULL;
CREATE INDEX credential_ending ON credential (tenant_id, expires_at) WHERE expires_at IS NOT NULL;

-- The gate of every write of memories, stated once. The first statement of a run inserts its lines into write_admission; the
-- trigger lets each of them in or stops the run with RAISE(ABORT, code), which undoes all of it. The statements behind it ask
-- for nothing more. Times are by the database's own clock.
CREATE VIEW write_admission AS
SELECT
  -- The memory that is to be written.
  NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS content_hash, NULL AS content_bytes, NULL AS metadata,
  -- The metadata that the agent's memory of this content must still have; NULL: the new memory's own, or no such memory.
  -- And whether that memory must still have expired.
  NULL AS merged_from, NULL AS was_expired,
  -- The credential that writes, and when it was issued; NULL: none.
  NULL AS written_by, NULL AS issued_at,
  -- The revision of the deletion of this id that the write undoes; 0: it undoes none.
  NULL AS undoes,
  -- Whether the line is a store: a store counts in stores_per_minute, is refused while the agent's long-term memory is
  -- switched off, and is the same memory where the agent has the content; none of this is so for an import's line. Then
  -- the store's Idempotency-Key, or NULL.
  NULL AS is_store, NULL AS key,
  -- The indexes that its vectors were made for: the active one, and the one beside it, or NULL.
  NULL AS active, NULL AS shadow,
  -- The limits of an agent and of the tenant where the operator has set no others, {"agent": [memories, bytes, stores per
  -- minute], "tenant": ...}, and the sums of the lines before it in the run, {"agent": [memories, bytes], "tenant": ...}.
  NULL AS limits, NULL AS before;

CREATE TRIGGER write_admission_checked INSTEAD OF INSERT ON write_admission
BEGIN
  SELECT CASE
    WHEN gate.revoked THEN RAISE(ABORT, 'revoked')
    WHEN gate.erasing THEN RAISE(ABORT, 'erasing')
    WHEN gate.deleted THEN RAISE(ABORT, 'deleted')
    WHEN gate.key_used THEN RAISE(ABORT, 'key_used')
    -- A run whose end was not known and that is made again goes through once more; where it may not, it was stored.
    WHEN gate.stored AND (gate.disabled OR gate.config_changed OR gate.over) THEN RAISE(ABORT, 'stored')
    WHEN gate.taken THEN RAISE(ABORT, 'taken')
    WHEN gate.disabled THEN RAISE(ABORT, 'disabled')
    WHEN gate.config_changed THEN RAISE(ABORT, 'config_changed')
    WHEN gate.differs THEN RAISE(ABORT, 'differs')
    WHEN gate.over THEN RAISE(ABORT, 'quota_exceeded')
  END
  FROM (
    SELECT
      -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
      EXISTS (
        SELECT 1 FROM revocation
        WHERE revocation.tenant_id = new.tenant_id AND (
          revocation.credential_id = new.written_by
          OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
        )
      ) AS revoked,
      EXISTS (
        SELECT 1 FROM erasure
        WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
          AND erasure.receipt IS NULL
      ) AS erasing,
      -- A memory that was stored by a run which is made again may have been deleted in between, under the same id.
      EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.tenant_id = new.tenant_id AND outbox.agent_id = new.agent_id AND outbox.id = new.id
          AND outbox.operation = 'delete' AND outbox.revision > new.undoes
      ) AS deleted,
      EXISTS (
        SELECT 1 FROM idempotency AS used
        WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.key = new.key
          AND used.created_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 24 * 3600 * 1000
      ) AS key_used,
      EXISTS (
        SELECT 1 FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.content_hash = new.content_hash
          AND own.id = new.id
      ) AS stored,
      -- An import's line is new: neither its id, which is unique over all tenants, nor its content is another memory's.
      NOT new.is_store AND (
        EXISTS (
          SELECT 1 FROM long_term_memory AS other
          WHERE other.id = new.id
            AND (other.tenant_id, other.agent_id, other.content_hash) <> (new.tenant_id, new.agent_id, new.content_hash)
        )
        OR EXISTS (
          SELECT 1 FROM long_term_memory AS holder
          WHERE holder.tenant_id = new.tenant_id AND holder.agent_id = new.agent_id
            AND holder.content_hash = new.content_hash AND holder.id <> new.id
        )
      ) AS taken,
      new.is_store AND EXISTS (
        SELECT 1 FROM agent
        WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id AND NOT agent.long_term_enabled
      ) AS disabled,
      (SELECT in_use.index_name FROM embedding_in_use AS in_use) IS NOT new.active
      OR (
        SELECT config.index_name FROM embedding_config AS config
        WHERE config.index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
      ) IS NOT new.shadow AS config_changed,
      -- A store changes an existing memory's metadata only if it has read them before (app/services/memories/write.py).
      new.is_store AND EXISTS (
        SELECT 1 FROM long_term_memory AS held
        WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.content_hash = new.content_hash
          AND held.metadata <> new.metadata AND (
            held.metadata IS NOT new.merged_from
            OR new.was_expired AND (held.expires_at IS NULL OR held.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
          )
      ) AS differs,
      -- The same content again is no new memory: only the growth of its metadata counts. A canary counts nowhere.
      new.agent_id <> 'memory-gateway:canary' AND EXISTS (
        SELECT 1 FROM (
          SELECT quota.memories AS memories_set, quota.bytes AS bytes_set, quota.stores_per_minute AS stores_set,
            scope.value AS defaults, present.id AS present_id,
            coalesce(usage.memories, 0) + (new.before -> scope.key ->> 0) AS memories,
            coalesce(usage.bytes, 0) + (new.before -> scope.key ->> 1) AS bytes,
            iif(
              usage.minute = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, usage.stores, 0
            ) AS stores,
            iif(present.id IS NULL, new.content_bytes, 0) + length(CAST(new.metadata AS BLOB))
              - coalesce(length(CAST(present.metadata AS BLOB)), 0) AS growth
          FROM json_each(new.limits) AS scope
          LEFT JOIN quota
            ON quota.tenant_id = new.tenant_id AND quota.agent_id = iif(scope.key = 'agent', new.agent_id, '')
          LEFT JOIN usage
            ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
          LEFT JOIN long_term_memory AS present
            ON present.tenant_id = new.tenant_id AND present.agent_id = new.agent_id
            AND present.content_hash = new.content_hash
        ) AS of_scope
        WHERE present_id IS NULL AND memories + 1 > coalesce(memories_set, defaults ->> 0)
          OR growth > 0 AND bytes + growth > coalesce(bytes_set, defaults ->> 1)
          OR new.is_store AND present_id IS NOT new.id AND stores + 1 > coalesce(stores_set, defaults ->> 2)
            AND NOT EXISTS (
              SELECT 1 FROM usage AS counted
              WHERE counted.tenant_id = new.tenant_id AND counted.agent_id = new.agent_id AND counted.ticket = new.id
            )
      ) AS over
  ) AS gate;

  -- A store is counted once, however often its run is made: usage.ticket is the store that was counted last.
  INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
  SELECT new.tenant_id, scope.value, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, 1, new.id
  FROM json_each(json_array(new.agent_id, '')) AS scope
  WHERE new.is_store AND new.agent_id <> 'memory-gateway:canary'
    AND NOT EXISTS (
      SELECT 1 FROM usage AS counted
      WHERE counted.tenant_id = new.tenant_id AND counted.agent_id = new.agent_id AND counted.ticket = new.id
    )
    AND NOT EXISTS (
      SELECT 1 FROM long_term_memory AS own
      WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.id
    )
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    stores = iif(usage.minute = excluded.minute, usage.stores, 0) + 1, minute = excluded.minute, ticket = excluded.ticket;
END;

-- Stores that named an Idempotency-Key, for 24 hours. The request itself is kept as a hash.
CREATE TABLE idempotency (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash TEXT NOT NULL CHECK (length(request_hash) = 64),
  memory_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- How many keys an agent has, kept right by the triggers below in the statement that changes them.
CREATE TABLE idempotency_count (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  keys INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER idempotency_counted AFTER INSERT ON idempotency
BEGIN
  INSERT INTO idempotency_count (tenant_id, agent_id, keys) VALUES (new.tenant_id, new.agent_id, 1)
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET keys = idempotency_count.keys + 1;
END;

CREATE TRIGGER idempotency_uncounted AFTER DELETE ON idempotency
BEGIN
  UPDATE idempotency_count SET keys = keys - 1 WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id;
  DELETE FROM idempotency_count WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND keys <= 0;
END;

-- An agent has at most 10,000 (app/domain/limits.py): beyond it the oldest thousand go, so that they are looked for
-- once in a thousand stores.
CREATE TRIGGER idempotency_bounded AFTER UPDATE OF keys ON idempotency_count WHEN new.keys > 10000
BEGIN
  DELETE FROM idempotency
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND created_at < (
    SELECT oldest.created_at FROM idempotency AS oldest
    WHERE oldest.tenant_id = new.tenant_id AND oldest.agent_id = new.agent_id
    ORDER BY oldest.created_at LIMIT 1 OFFSET 1000
  );
END;


-- === Golden questions

-- What the operator asks before an embedding model is switched, and which memories have to be found: the line of the
-- question as JSON (docs/evaluation.md).
CREATE TABLE golden_question (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  question TEXT NOT NULL CHECK (json_valid(question) AND length(CAST(question AS BLOB)) <= 65536),
  PRIMARY KEY (tenant_id, agent_id, id)
) STRICT, WITHOUT ROWID;


-- === Quotas, and what counts in them
-- The agent_id '' stands for the tenant as a whole. The bytes of every tier count in the quota of bytes, and every
-- write of a tier in that of stores, as those of long-term memory do (docs/decisions/0047-one-quota-for-all-tiers.md).
-- The column counted_bytes of each table has the bytes that a row counts: those in UTF-8 of the texts that callers send
-- and name, of a blob also those of its object, and 200 for ids, numbers and entries of indexes. Of a large value the
-- row has a pointer. Nothing counts of the agent 'memory-gateway:canary', which has the canaries (docs/security.md).

-- The limits that the operator has set in place of the defaults; NULL: the default holds.
CREATE TABLE quota (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memories INTEGER CHECK (memories IS NULL OR memories >= 0),
  bytes INTEGER CHECK (bytes IS NULL OR bytes >= 0),
  stores_per_minute INTEGER CHECK (stores_per_minute IS NULL OR stores_per_minute >= 0),
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- The memories and bytes that are held, counted by triggers in the statement that changes them, and the
-- stores of a minute.
CREATE TABLE usage (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memories INTEGER NOT NULL DEFAULT 0,
  -- Of content and metadata, in UTF-8.
  bytes INTEGER NOT NULL DEFAULT 0,
  -- Minutes since the epoch, and how many stores were let in during that one.
  minute INTEGER NOT NULL DEFAULT 0,
  stores INTEGER NOT NULL DEFAULT 0,
  -- The store that was let in last: the other statements of its run look for it.
  ticket TEXT,
  -- The parts of bytes by tier: bytes is the sum over all tiers, and the rest of it is long-term memory.
  working_bytes INTEGER NOT NULL DEFAULT 0,
  episodic_bytes INTEGER NOT NULL DEFAULT 0,
  procedural_bytes INTEGER NOT NULL DEFAULT 0,
  shared_context_bytes INTEGER NOT NULL DEFAULT 0,
  audit_bytes INTEGER NOT NULL DEFAULT 0,
  blobs_bytes INTEGER NOT NULL DEFAULT 0,
  ingestion_bytes INTEGER NOT NULL DEFAULT 0,
  -- The value of bytes when a run that writes to a tier began: the run may not end above both the limit and this value.
  bytes_at_entry INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- An insert adds bytes of a tier to the agent, '' where all agents of the tenant share the row, and to the tenant.
CREATE VIEW usage_change AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS tier, NULL AS bytes;

CREATE TRIGGER usage_changed INSTEAD OF INSERT ON usage_change
WHEN new.agent_id <> 'memory-gateway:canary'
BEGIN
  INSERT INTO usage (tenant_id, agent_id, bytes, working_bytes, episodic_bytes, procedural_bytes, shared_context_bytes,
    audit_bytes, blobs_bytes, ingestion_bytes)
  SELECT new.tenant_id, scope.agent_id, new.bytes,
    iif(new.tier = 'working', new.bytes, 0),
    iif(new.tier = 'episodic', new.bytes, 0),
    iif(new.tier = 'procedural', new.bytes, 0),
    iif(new.tier = 'shared_context', new.bytes, 0),
    iif(new.tier = 'audit', new.bytes, 0),
    iif(new.tier = 'blobs', new.bytes, 0),
    iif(new.tier = 'ingestion', new.bytes, 0)
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET bytes = usage.bytes + excluded.bytes,
    working_bytes = usage.working_bytes + excluded.working_bytes,
    episodic_bytes = usage.episodic_bytes + excluded.episodic_bytes,
    procedural_bytes = usage.procedural_bytes + excluded.procedural_bytes,
    shared_context_bytes = usage.shared_context_bytes + excluded.shared_context_bytes,
    audit_bytes = usage.audit_bytes + excluded.audit_bytes,
    blobs_bytes = usage.blobs_bytes + excluded.blobs_bytes,
    ingestion_bytes = usage.ingestion_bytes + excluded.ingestion_bytes;
END;

-- The cost of a tenant's calls of models on a day, in days since the epoch (UTC).
CREATE TABLE model_spend (
  tenant_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  stage TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, day, stage)
) STRICT, WITHOUT ROWID;


-- === What was done, and what is being erased

-- The events of memories, without their content. A row stays when its memory is gone. The code names the kinds of
-- events.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT,
  memory_id TEXT,
  event TEXT NOT NULL CHECK (length(event) BETWEEN 1 AND 32),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  created_at INTEGER NOT NULL,
  written_by TEXT
) STRICT;
-- This index is for the count of a tenant's rows, and for the rows that are too old.
CREATE INDEX audit_of_tenant ON audit (tenant_id, created_at);
-- The audit is listed by any of these indexes. Most of its rows are of stores, and the last index has no rows of
-- stores.
CREATE INDEX audit_of_agent ON audit (tenant_id, agent_id, created_at);
CREATE INDEX audit_of_memory ON audit (tenant_id, memory_id, created_at);
CREATE INDEX audit_of_writer ON audit (tenant_id, written_by, created_at);
CREATE INDEX audit_rare ON audit (tenant_id, event, created_at) WHERE event <> 'stored';

-- What administrators and operators do: an act, or attempts of a credential that were refused. No erasure touches it, and
-- it holds no content. The acts of a tenant are numbered without gaps; '' stands for the acts that concern all tenants.
CREATE TABLE administrative_act (
  tenant_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  id TEXT NOT NULL CHECK (length(id) = 26),
  act TEXT NOT NULL CHECK (length(act) BETWEEN 1 AND 32),
  outcome TEXT NOT NULL CHECK (outcome IN ('begun', 'done', 'failed', 'refused')),
  code TEXT,
  channel TEXT NOT NULL,
  credential_id TEXT,
  operator TEXT,
  request_id TEXT,
  subject TEXT NOT NULL CHECK (json_valid(subject)),
  counts TEXT NOT NULL CHECK (json_valid(counts)),
  attempts INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,
  ended_at INTEGER,
  signature TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX administrative_act_by_number ON administrative_act (tenant_id, number);
CREATE INDEX administrative_act_newest ON administrative_act (tenant_id, begun_at);
CREATE INDEX administrative_act_of_name ON administrative_act (tenant_id, act, begun_at);
CREATE INDEX administrative_act_of_credential ON administrative_act (tenant_id, credential_id, begun_at);
CREATE INDEX administrative_act_of_outcome ON administrative_act (tenant_id, outcome, begun_at);

-- The erasure of an agent, or with no agent_id of the whole tenant. While receipt is NULL nothing is stored in its scope.
CREATE TABLE erasure (
  id TEXT PRIMARY KEY CHECK (length(id) = 26),
  tenant_id TEXT NOT NULL,
  agent_id TEXT,
  accepted_at INTEGER NOT NULL,
  advanced_at INTEGER NOT NULL,
  memories INTEGER NOT NULL DEFAULT 0,
  outbox_rows INTEGER NOT NULL DEFAULT 0,
  dead_letters INTEGER NOT NULL DEFAULT 0,
  idempotency_keys INTEGER NOT NULL DEFAULT 0,
  receipt TEXT CHECK (receipt IS NULL OR json_valid(receipt)),
  -- Messages that an erasure has erased before they were memories.
  messages INTEGER NOT NULL DEFAULT 0,
  -- The rows of the tiers that an erasure has erased, by kind: a JSON object of counts.
  tiers TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(tiers))
) STRICT;
CREATE INDEX erasure_of_tenant ON erasure (tenant_id, agent_id);
CREATE INDEX erasure_under_way ON erasure (advanced_at) WHERE receipt IS NULL;
CREATE INDEX erasure_finished ON erasure (tenant_id, accepted_at) WHERE receipt IS NOT NULL;
-- Every store asks for the erasures under way of its scope, however many have finished.
CREATE INDEX erasure_running ON erasure (tenant_id, agent_id) WHERE receipt IS NULL;


-- === Processes, and the shares of Cloudflare's calls

-- The holder of each piece of work that only one process should do at a time.
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The share of Cloudflare's rate limit that each process holds (docs/decisions/0040-one-budget-for-all-replicas.md).
-- The shares of living processes, with the calls that ended processes have spent in the last window, never exceed the
-- limit.
CREATE TABLE call_share (
  replica TEXT NOT NULL PRIMARY KEY CHECK (length(replica) BETWEEN 1 AND 300),
  -- The calls that the process may make in any window.
  calls INTEGER NOT NULL CHECK (calls >= 0),
  -- Whether the process has refused calls of late, for want of a larger share.
  hungry INTEGER NOT NULL CHECK (hungry IN (0, 1)),
  -- The calls that the process has spent, as [[moment in ms, calls], ...], and their sum.
  spent TEXT NOT NULL CHECK (json_valid(spent)),
  used INTEGER NOT NULL CHECK (used >= 0),
  -- When the share goes back to the others, unless it is renewed.
  expires_at INTEGER NOT NULL,
  -- Whether a command holds the share: some calls are for commands alone, beyond those that all divide
  -- (docs/decisions/0040-one-budget-for-all-replicas.md).
  command INTEGER NOT NULL DEFAULT 0 CHECK (command IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Every store and recall reads this state, which is about all tenants and shown to no caller: which embedding configs
-- are in use, and whether work is 20 s overdue while no indexer holds the lease.
CREATE VIEW service_state AS
SELECT (
    SELECT json_array(in_use.provider, in_use.model, in_use.dimensions, in_use.index_name) FROM embedding_in_use AS in_use
  ) AS active,
  (
    SELECT json_array(config.provider, config.model, config.dimensions, config.index_name)
    FROM embedding_config AS config
    WHERE config.index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
  ) AS shadow,
  (SELECT in_use.epoch FROM embedding_in_use AS in_use) AS config_epoch,
  (SELECT group_concat(build.index_name, ' ') FROM index_build AS build) AS building,
  EXISTS (SELECT 1 FROM long_term_memory) AS any_memory,
  (SELECT max(revocation.revoked_at) FROM revocation) AS revoked_at,
  NOT EXISTS (
    SELECT 1 FROM lease
    WHERE lease.name = 'indexer' AND lease.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
      AND lease.expires_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + 46000
  ) AND (
    EXISTS (
      SELECT 1 FROM outbox
      WHERE outbox.due_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 20000
    )
    OR EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.receipt IS NULL
        AND erasure.advanced_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 20000
    )
  ) AS unattended,
  (SELECT count(*) FROM shards) AS shards;


-- === What holds, and what a model has learned

-- Claims, by which memories hold. A memory that states the value of a key ("user/lives_in" is "oslo") has a claim. The
-- claims of a key, in the order in which they were said, make versions: neighbours of one value are one version, and
-- each version but the last is superseded by the one after it. So a chain cannot fork, and does not depend on the order
-- of arrival.
CREATE TABLE claim (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  happened_at INTEGER NOT NULL,
  memory_id TEXT NOT NULL,
  value TEXT NOT NULL,
  -- Whether the memory states nothing else, so that it is superseded with its claim.
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),
  -- Whether the claim begins a version.
  opens INTEGER NOT NULL DEFAULT 0 CHECK (opens IN (0, 1)),
  -- The memory whose claim begins the next version, and when that claim was said; NULL in the version that holds.
  superseded_by TEXT,
  superseded_at INTEGER,
  PRIMARY KEY (tenant_id, agent_id, key, happened_at, memory_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX claim_that_holds ON claim (tenant_id, agent_id, key) WHERE opens AND superseded_by IS NULL;
CREATE INDEX claim_of_memory ON claim (tenant_id, agent_id, memory_id);
-- A memory that many were merged into has hundreds of claims that hold: this index finds the superseded ones alone.
CREATE INDEX claim_superseded_of ON claim (tenant_id, agent_id, memory_id) WHERE superseded_at IS NOT NULL;
-- A key is "subject/relation", or "subject/relation/value".
CREATE INDEX claim_of_relation ON claim (tenant_id, agent_id, (substr(key, instr(key, '/') + 1) || '/'));

-- The messages that learned memories come from.
CREATE TABLE memory_source (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, message_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_source_of_memory ON memory_source (tenant_id, agent_id, memory_id);

-- A row that is inserted here has a learned memory follow its own claims and its messages' memories. The memory's state
-- is computed from these alone, so the order of events makes no difference, and a second insert changes nothing. A
-- memory that a caller has forgotten stays forgotten, whatever becomes of its messages. A learned memory expires with
-- the first of its messages that does.
CREATE VIEW learned_change AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS memory_id;

CREATE TRIGGER learned_change_made INSTEAD OF INSERT ON learned_change
BEGIN
  UPDATE long_term_memory SET
    (superseded_at, superseded_with) = (
      SELECT cause.at, cause.through FROM (
        SELECT own.superseded_at AS at, NULL AS through FROM claim AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.memory_id = new.memory_id
          AND own.whole
        UNION ALL
        SELECT said.superseded_at, said.id FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS cause
      WHERE cause.at IS NOT NULL ORDER BY cause.at, cause.through LIMIT 1
    ),
    (forgotten_at, forgotten_with) = (
      SELECT cause.at, cause.through FROM (
        SELECT 0 AS place, own.forgotten_at AS at, NULL AS through FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.memory_id
          AND own.forgotten_with IS NULL
        UNION ALL
        SELECT 1, said.forgotten_at, said.id FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS cause
      WHERE cause.at IS NOT NULL ORDER BY cause.place, cause.at, cause.through LIMIT 1
    ),
    expires_at = (
      SELECT min(life.ends) FROM (
        SELECT own.expires_at AS ends FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.memory_id
        UNION ALL
        SELECT said.expires_at FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS life
    )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

CREATE TRIGGER claim_placed AFTER INSERT ON claim
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 1
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id AND statements_read IS NULL;
  -- The version before the new claim ends with it, where that version has another value.
  UPDATE claim SET superseded_by = new.memory_id, superseded_at = new.happened_at
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key AND value <> new.value
    AND (happened_at, memory_id) < (new.happened_at, new.memory_id)
    AND (happened_at, memory_id) >= (
      SELECT opener.happened_at, opener.memory_id FROM claim AS opener
      WHERE opener.tenant_id = new.tenant_id AND opener.agent_id = new.agent_id AND opener.key = new.key
        AND opener.opens AND (opener.happened_at, opener.memory_id) < (new.happened_at, new.memory_id)
      ORDER BY opener.happened_at DESC, opener.memory_id DESC LIMIT 1
    );
  UPDATE claim SET opens = (value <> new.value)
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND (happened_at, memory_id) = (
      SELECT later.happened_at, later.memory_id FROM claim AS later
      WHERE later.tenant_id = new.tenant_id AND later.agent_id = new.agent_id AND later.key = new.key
        AND (later.happened_at, later.memory_id) > (new.happened_at, new.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    );
  UPDATE claim SET
    opens = new.value IS NOT (
      SELECT earlier.value FROM claim AS earlier
      WHERE earlier.tenant_id = new.tenant_id AND earlier.agent_id = new.agent_id AND earlier.key = new.key
        AND (earlier.happened_at, earlier.memory_id) < (new.happened_at, new.memory_id)
      ORDER BY earlier.happened_at DESC, earlier.memory_id DESC LIMIT 1
    ),
    (superseded_by, superseded_at) = (
      SELECT iif(later.value = new.value, later.superseded_by, later.memory_id),
        iif(later.value = new.value, later.superseded_at, later.happened_at)
      FROM claim AS later
      WHERE later.tenant_id = new.tenant_id AND later.agent_id = new.agent_id AND later.key = new.key
        AND (later.happened_at, later.memory_id) > (new.happened_at, new.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND happened_at = new.happened_at AND memory_id = new.memory_id;
  -- A key has at most 500 claims: memories whose older claims are deleted stay superseded for good.
  DELETE FROM claim
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND (happened_at, memory_id) <= (
      SELECT old.happened_at, old.memory_id FROM claim AS old
      WHERE old.tenant_id = new.tenant_id AND old.agent_id = new.agent_id AND old.key = new.key
      ORDER BY old.happened_at DESC, old.memory_id DESC LIMIT 1 OFFSET 500
    );
END;

-- The chain becomes what it would be if the deleted claim had never been said.
CREATE TRIGGER claim_removed AFTER DELETE ON claim
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE claim SET opens = value IS NOT (
    SELECT earlier.value FROM claim AS earlier
    WHERE earlier.tenant_id = old.tenant_id AND earlier.agent_id = old.agent_id AND earlier.key = old.key
      AND (earlier.happened_at, earlier.memory_id) < (old.happened_at, old.memory_id)
    ORDER BY earlier.happened_at DESC, earlier.memory_id DESC LIMIT 1
  )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND key = old.key
    AND (happened_at, memory_id) = (
      SELECT later.happened_at, later.memory_id FROM claim AS later
      WHERE later.tenant_id = old.tenant_id AND later.agent_id = old.agent_id AND later.key = old.key
        AND (later.happened_at, later.memory_id) > (old.happened_at, old.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    );
  UPDATE claim SET (superseded_by, superseded_at) = (
    SELECT iif(later.value = claim.value, later.superseded_by, later.memory_id),
      iif(later.value = claim.value, later.superseded_at, later.happened_at)
    FROM claim AS later
    WHERE later.tenant_id = old.tenant_id AND later.agent_id = old.agent_id AND later.key = old.key
      AND (later.happened_at, later.memory_id) > (old.happened_at, old.memory_id)
    ORDER BY later.happened_at, later.memory_id LIMIT 1
  )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND key = old.key AND superseded_by = old.memory_id
    AND (happened_at, memory_id) < (old.happened_at, old.memory_id);
END;

CREATE TRIGGER long_term_memory_followed
AFTER UPDATE OF superseded_at, forgotten_at, expires_at, message_id ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.message_id IS NOT NULL AND (
  new.superseded_at IS NOT old.superseded_at OR new.forgotten_at IS NOT old.forgotten_at
  OR new.expires_at IS NOT old.expires_at OR old.message_id IS NULL
))
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id)
  SELECT source.tenant_id, source.agent_id, source.memory_id FROM memory_source AS source
  WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.message_id = new.message_id;
END;

-- A learned memory follows its sources again where its topic, or a caller, has changed it.
CREATE TRIGGER long_term_memory_follows AFTER UPDATE OF superseded_at, forgotten_at ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.learned IS NOT NULL
  AND (new.superseded_at IS NOT old.superseded_at OR new.forgotten_at IS NOT old.forgotten_at))
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

CREATE TRIGGER long_term_memory_learned AFTER INSERT ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.learned IS NOT NULL)
BEGIN
  INSERT INTO memory_source (tenant_id, agent_id, message_id, memory_id)
  SELECT new.tenant_id, new.agent_id, cited.value, new.id FROM json_each(new.learned, '$.message_ids') AS cited
  WHERE TRUE ON CONFLICT DO NOTHING;
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

-- A learned memory that is stored in the same words counts as stored: from then on it follows no message and no topic.
CREATE TRIGGER long_term_memory_not_learned AFTER UPDATE OF learned ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (old.learned IS NOT NULL AND new.learned IS NULL)
BEGIN
  DELETE FROM memory_source
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND memory_id = new.id;
  DELETE FROM claim
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND memory_id = new.id AND substr(key, 1, 6) = 'topic:';
  UPDATE long_term_memory SET superseded_at = NULL, superseded_with = NULL,
    forgotten_at = iif(forgotten_with IS NULL, forgotten_at, NULL), forgotten_with = NULL
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.id;
END;

CREATE TRIGGER long_term_memory_restored AFTER UPDATE OF superseded_at ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.superseded_at IS NULL AND new.identity IS NOT NULL)
BEGIN
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE id = new.id AND tenant_id = new.tenant_id AND NOT EXISTS (
    SELECT 1 FROM long_term_memory AS other
    WHERE other.tenant_id = new.tenant_id AND other.agent_id = new.agent_id AND other.content_hash = new.identity
  );
END;

-- An import may bring the memory of a message after the memories that were learned of it.
CREATE TRIGGER long_term_memory_said AFTER INSERT ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.message_id IS NOT NULL AND coalesce(new.forgotten_at, new.expires_at) IS NOT NULL)
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id)
  SELECT source.tenant_id, source.agent_id, source.memory_id FROM memory_source AS source
  WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.message_id = new.message_id;
END;

-- The hash of a superseded memory makes room; the hash of a memory that holds again comes back (see identity).
CREATE TRIGGER long_term_memory_superseded AFTER UPDATE OF superseded_at ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.superseded_at IS NOT NULL AND new.occurred_at IS NULL AND new.identity IS NULL)
BEGIN
  UPDATE long_term_memory
  SET identity = content_hash, content_hash = substr(content_hash, 1, 12) || lower(hex(id))
  WHERE id = new.id AND tenant_id = new.tenant_id;
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE tenant_id = new.tenant_id AND id = (
    SELECT other.id FROM long_term_memory AS other
    WHERE other.tenant_id = new.tenant_id AND other.agent_id = new.agent_id AND other.identity = new.content_hash
      AND other.superseded_at IS NULL ORDER BY other.id LIMIT 1
  );
END;

-- The hash of a deleted memory is free for another one of its content.
CREATE TRIGGER long_term_memory_unclaimed AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE tenant_id = old.tenant_id AND id = (
    SELECT other.id FROM long_term_memory AS other
    WHERE other.tenant_id = old.tenant_id AND other.agent_id = old.agent_id AND other.identity = old.content_hash
      AND other.superseded_at IS NULL ORDER BY other.id LIMIT 1
  ) AND NOT EXISTS (
    SELECT 1 FROM long_term_memory AS taken
    WHERE taken.tenant_id = old.tenant_id AND taken.agent_id = old.agent_id AND taken.content_hash = old.content_hash
  );
END;

CREATE TRIGGER long_term_memory_unlearned AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.learned IS NOT NULL)
BEGIN
  DELETE FROM memory_source
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
END;


-- === Conversations that are taken in

-- Messages that were taken and are no memories yet.
CREATE TABLE message (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 32),
  ingestion_id TEXT NOT NULL,
  -- Its place among the messages of its ingestion, from 0.
  place INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
  content TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  -- The content hash of the memory that the message is to become.
  content_hash TEXT NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(session_id AS BLOB)) + length(CAST(content AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, id)
) STRICT;
CREATE INDEX message_of_session ON message (tenant_id, agent_id, session_id, said_at, place);

-- Ingestions: the operations that make memories of messages. One ingestion works on a session at a time, as long as its
-- lease lasts.
CREATE TABLE ingestion (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  -- Since when all its messages are there; NULL: they are still being taken, or the process that took them has stopped.
  staged_at INTEGER,
  -- Messages that were sent, and how many of them were there already.
  messages INTEGER NOT NULL,
  known INTEGER NOT NULL DEFAULT 0,
  -- Memories made so far.
  written INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER,
  -- Why the ingestion stopped for good, as a problem's code; NULL: it did not stop.
  failure TEXT,
  -- The author, with whom the memories are signed, and the speakers for whom the author may speak, [name, ...]; NULL:
  -- anybody.
  written_by TEXT,
  written_through TEXT NOT NULL,
  issued_at INTEGER,
  speakers TEXT,
  -- The process that works on the ingestion, and the end of its lease. Without a holder, lease_expires_at is when to go
  -- on: at once, or after an outage.
  lease_holder TEXT,
  lease_expires_at INTEGER,
  -- Whether a model is to read the messages of an ingestion, and since when its passes are planned.
  learns INTEGER NOT NULL DEFAULT 0 CHECK (learns IN (0, 1)),
  planned_at INTEGER,
  run_id TEXT
) STRICT;
CREATE INDEX ingestion_of_tenant ON ingestion (tenant_id, agent_id, id);
CREATE INDEX ingestion_unfinished ON ingestion (tenant_id, agent_id, session_id) WHERE finished_at IS NULL;

-- Every run that writes for an ingestion inserts here first (app/storage/ingestions.py): the run is refused where the
-- ingestion was erased, undone or taken over by another process since its messages were read.
CREATE VIEW ingestion_step AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS holder;

CREATE TRIGGER ingestion_step_checked INSTEAD OF INSERT ON ingestion_step
BEGIN
  SELECT RAISE(ABORT, 'not_held') WHERE NOT EXISTS (
    SELECT 1 FROM ingestion
    WHERE ingestion.tenant_id = new.tenant_id AND ingestion.agent_id = new.agent_id AND ingestion.id = new.id
      AND ingestion.lease_holder = new.holder AND ingestion.finished_at IS NULL
  );
END;

-- The passes of an ingestion: parts of its conversation, each of which a model reads at once.
CREATE TABLE pass (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  ingestion_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('extract', 'detail')),
  -- [id, ...], in the order in which they were said.
  message_ids TEXT NOT NULL,
  -- How many of the first messages are there only so that the model understands the others.
  context INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'failed')),
  -- Why the pass failed, as a problem's code.
  failure TEXT,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(message_ids AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, ingestion_id, number)
) STRICT, WITHOUT ROWID;

-- The memories that a model proposed, and the outcome of each proposal.
CREATE TABLE proposal (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  ingestion_id TEXT NOT NULL,
  -- The first 128 bits of SHA-256 over its content as it was proposed, in hex.
  id TEXT NOT NULL CHECK (length(id) = 32),
  pass INTEGER NOT NULL,
  content TEXT NOT NULL,
  message_ids TEXT NOT NULL,
  happened_at INTEGER,
  type TEXT CHECK (type IN ('fact', 'instruction', 'event', 'task')),
  topic TEXT,
  search_queries TEXT,
  state TEXT NOT NULL CHECK (state IN ('proposed', 'verified', 'learned', 'known', 'dropped', 'failed')),
  -- The proposal's content before it was corrected; NULL: it was not corrected.
  corrected_from TEXT,
  -- Why the proposal was corrected or dropped, or the code of the problem by which it failed.
  reason TEXT,
  memory_id TEXT,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(content AS BLOB)) + length(CAST(message_ids AS BLOB))
      + coalesce(length(CAST(topic AS BLOB)), 0) + coalesce(length(CAST(search_queries AS BLOB)), 0)
      + coalesce(length(CAST(corrected_from AS BLOB)), 0) + coalesce(length(CAST(reason AS BLOB)), 0)
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, ingestion_id, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ingestion_unlearned AFTER DELETE ON ingestion
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM pass
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
  DELETE FROM proposal
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
END;

CREATE TRIGGER message_bytes_counted AFTER INSERT ON message
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER message_bytes_uncounted AFTER DELETE ON message
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;

CREATE TRIGGER pass_bytes_counted AFTER INSERT ON pass
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER pass_bytes_uncounted AFTER DELETE ON pass
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_counted AFTER INSERT ON proposal
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_recounted AFTER UPDATE ON proposal WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_uncounted AFTER DELETE ON proposal
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;


-- === The index of words

-- The numbers by which the index knows memories, in the order in which the memories came.
CREATE TABLE memory_number (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- Of the content, in UTF-8.
  bytes INTEGER NOT NULL
) STRICT;

-- A scope is one word without upper case, punctuation or, because of its last digit, an ending: FTS5 takes the word as
-- it is, and no two scopes have the same. Each 16th memory is in the index by another word of its scope too: the number
-- of these that have a word tells about how many of all memories have it.
CREATE VIEW memory_words_source AS
SELECT memory_number.number,
  lower(hex(memory.tenant_id)) || 'g' || lower(hex(memory.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(memory.tenant_id)) || 'g' || lower(hex(memory.agent_id)) || '1') AS scope,
  memory.content, memory.segments
FROM memory_number JOIN long_term_memory AS memory ON memory.id = memory_number.id;

-- The words of memories, for the lexical channel of a recall: an FTS5 index over long_term_memory, kept by triggers.
CREATE VIRTUAL TABLE memory_words USING fts5 (
  scope, content, segments,
  content = 'memory_words_source', content_rowid = 'number',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- The state of the index of words, in one row.
CREATE TABLE words_index (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- Whether blocks of the index may hold words that were deleted without the setting below: 2: yes; 1: the blocks are
  -- being written anew; 0: no.
  old_blocks INTEGER NOT NULL CHECK (old_blocks IN (0, 1, 2)),
  -- The number up to which memories are in the index of words: -1: none, because the index is damaged;
  -- 9007199254740991: all. Triggers keep only the indexed memories: no write depends on a damaged index, and the
  -- memories behind the number are indexed again step by step (app/storage/system/words_index.py).
  indexed_to INTEGER NOT NULL DEFAULT 9007199254740991,
  -- Counts what was removed or reworded. While it stays, what a process has read of the index holds, and all that came
  -- since has higher numbers (app/storage/postings.py).
  removals INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER words_index_made_anew AFTER UPDATE OF indexed_to ON words_index
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

CREATE TRIGGER memory_number_removed AFTER DELETE ON memory_number
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

CREATE TRIGGER memory_number_reworded AFTER UPDATE ON memory_number
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

CREATE TRIGGER long_term_memory_worded AFTER INSERT ON long_term_memory
BEGIN
  INSERT INTO memory_number (id, bytes) VALUES (new.id, length(CAST(new.content AS BLOB)));
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id AND number <= (SELECT indexed_to FROM words_index);
END;

CREATE TRIGGER long_term_memory_reworded AFTER UPDATE OF tenant_id, agent_id, content, segments ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id AND number <= (SELECT indexed_to FROM words_index);
  UPDATE memory_number SET bytes = length(CAST(new.content AS BLOB)) WHERE id = new.id;
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id AND number <= (SELECT indexed_to FROM words_index);
END;

CREATE TRIGGER long_term_memory_unworded AFTER DELETE ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id AND number <= (SELECT indexed_to FROM words_index);
  DELETE FROM memory_number WHERE id = old.id;
END;


-- === Relations that a reader has found

-- The relations between memories that a reader has found (docs/reader.md). Memories without a row have no relation.
CREATE TABLE relation (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  older_id TEXT NOT NULL,
  newer_id TEXT NOT NULL,
  -- The effect of the newer memory on the older one.
  name TEXT NOT NULL CHECK (name IN ('holds', 'replaces', 'ends', 'restates')),
  -- The probability that the older memory holds no longer.
  probability REAL NOT NULL CHECK (probability BETWEEN 0 AND 1),
  -- Whether the older memory is not returned any more, or only behind the newer; NULL: the relation changes nothing.
  effect TEXT CHECK (effect IN ('hides', 'newer_first')),
  -- The version of the reader's weights.
  version TEXT NOT NULL,
  compared_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, newer_id, older_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX relation_of_older ON relation (tenant_id, agent_id, older_id);
CREATE INDEX relation_restates ON relation (tenant_id, agent_id, newer_id, older_id)
WHERE name = 'restates' AND effect IS NULL;

-- A relation with an effect is two claims of a key of its own, whichever memory came first. No rule and no fact has a
-- key that begins with "~".
CREATE TRIGGER relation_placed AFTER INSERT ON relation
WHEN new.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  -- A claim that comes from comparing a memory with another is no sign that the memory was read.
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id IN (new.older_id, new.newer_id)
    AND statements_read IS NULL;
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~' || new.older_id || ':' || new.newer_id, memory.happened_at, memory.id,
    memory.id, memory.id = new.older_id AND new.effect = 'hides'
  FROM long_term_memory AS memory
  WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id
    AND memory.id IN (new.older_id, new.newer_id) AND 2 = (
      SELECT count(*) FROM long_term_memory AS either
      WHERE either.tenant_id = new.tenant_id AND either.agent_id = new.agent_id
        AND either.id IN (new.older_id, new.newer_id)
    )
  ON CONFLICT DO NOTHING;
END;

-- The claims of a deleted relation go, as if the memories had never been compared. The newer memory's claim goes first,
-- so that the older memory holds again.
CREATE TRIGGER relation_removed AFTER DELETE ON relation
WHEN old.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~' || old.older_id || ':' || old.newer_id AND memory_id = old.newer_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~' || old.older_id || ':' || old.newer_id;
END;

CREATE TRIGGER long_term_memory_unrelated AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM relation WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND newer_id = old.id;
  DELETE FROM relation WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND older_id = old.id;
END;

CREATE TRIGGER claim_superseded AFTER UPDATE OF superseded_at ON claim
WHEN new.whole AND new.superseded_at IS NOT old.superseded_at
BEGIN
  UPDATE long_term_memory SET superseded_at = (
    SELECT min(own.superseded_at) FROM claim AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.memory_id = new.memory_id AND own.whole
  )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

-- The version of the weights with which memories were read last. after: the memories up to this id are read anew; NULL:
-- all memories are.
CREATE TABLE reading (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  version TEXT NOT NULL,
  after TEXT
) STRICT;

-- A memory with explicit claims waits for a reader once its claims are there (claim_placed would mark it as read).
-- Should a run stop before the claims, the memory is not read, and its claims are added after the next start.
CREATE TRIGGER claim_waits BEFORE INSERT ON claim
WHEN new.key NOT GLOB '~*'
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id AND statements_read IS NULL;
END;


-- === The gate of the tiers

-- The gate of every write to a tier of memory other than long-term memory (docs/tiers.md). The first statement of such a run
-- inserts into tier_write; the trigger lets it pass, or stops the run with RAISE(ABORT, code), which undoes all of it. Facts
-- are long-term memories and have the gate of these (write_admission).
CREATE VIEW tier_write AS
SELECT
  -- The scope that is written to; agent_id is NULL where the row belongs to all agents of the tenant.
  NULL AS tenant_id, NULL AS agent_id,
  -- The credential that writes, and when it was issued; NULL: an operator.
  NULL AS written_by, NULL AS issued_at,
  -- The limits of an agent and of the tenant that have no others (quota); NULL: the run brings no bytes.
  NULL AS limits,
  -- The id by which the write is known where its run is made again; NULL: the write does not count as a store.
  NULL AS ticket;

CREATE TRIGGER tier_write_checked INSTEAD OF INSERT ON tier_write
BEGIN
  SELECT CASE
    -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
    WHEN EXISTS (
      SELECT 1 FROM revocation
      WHERE revocation.tenant_id = new.tenant_id AND (
        revocation.credential_id = new.written_by
        OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
      )
    ) THEN RAISE(ABORT, 'revoked')
    WHEN EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
        AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
    WHEN new.ticket IS NOT NULL AND new.agent_id IS NOT 'memory-gateway:canary' AND EXISTS (
      SELECT 1 FROM json_each(new.limits) AS scope
      LEFT JOIN quota ON quota.tenant_id = new.tenant_id AND quota.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      LEFT JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      WHERE (scope.key = 'tenant' OR new.agent_id IS NOT NULL) AND usage.ticket IS NOT new.ticket
        AND iif(usage.minute = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, usage.stores, 0)
          >= coalesce(quota.stores_per_minute, scope.value ->> 2)
    ) THEN RAISE(ABORT, 'over_stores')
  END;
  -- usage.ticket is the write that was counted last: a write whose run is made again is counted once.
  INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
  SELECT new.tenant_id, scope.agent_id, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000,
    new.ticket IS NOT NULL, new.ticket
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope
  WHERE scope.agent_id IS NOT NULL AND new.limits IS NOT NULL AND new.agent_id IS NOT 'memory-gateway:canary'
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    bytes_at_entry = usage.bytes,
    stores = iif(usage.minute = excluded.minute, usage.stores, 0)
      + (excluded.ticket IS NOT NULL AND usage.ticket IS NOT excluded.ticket),
    minute = excluded.minute, ticket = coalesce(excluded.ticket, usage.ticket);
END;

-- The last statement of a run that brings something to a tier: it stops a run that has gone over the quota of bytes.
CREATE VIEW tier_written AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS limits,
  -- The bytes that are deleted once the run has served its purpose; and whether the run may end above the limit where
  -- it began below it.
  NULL AS leaving, NULL AS may_pass;

CREATE TRIGGER tier_written_checked INSTEAD OF INSERT ON tier_written
BEGIN
  SELECT iif(scope.key = 'agent', RAISE(ABORT, 'over_bytes_of_agent'), RAISE(ABORT, 'over_bytes_of_tenant'))
  FROM json_each(new.limits) AS scope
  JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
  LEFT JOIN quota ON quota.tenant_id = usage.tenant_id AND quota.agent_id = usage.agent_id
  WHERE usage.bytes > usage.bytes_at_entry AND new.agent_id IS NOT 'memory-gateway:canary'
    AND iif(new.may_pass, usage.bytes_at_entry + 1, usage.bytes) - new.leaving
      > coalesce(quota.bytes, scope.value ->> 1);
END;


-- === Working memory
-- The scratch state of one running copy of an agent, an instance (docs/tiers.md). Each write is one insert into a view,
-- whose trigger checks and makes the whole write, or stops the run with RAISE(ABORT, code): so no write is ever made
-- half. The statements fill in the moment (`now`, by the database's clock) and the limits (app/domain/limits.py).

-- An instance outlives its keys with the last version that was given out in it. Versions only rise, and begin at the
-- database's clock: an instance that was deleted and comes again begins above every version that it had.
CREATE TABLE working_instance (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  -- When the last thing in it expires.
  expires_at INTEGER NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, instance)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_instance_living ON working_instance (tenant_id, expires_at);
CREATE INDEX working_instance_expiring ON working_instance (expires_at);

-- The value is the last column: a statement that sums up bytes does not read it. The key `/state`, which no caller can
-- name, is the turn state of the run that the instance is.
CREATE TABLE working_key (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
  bytes INTEGER NOT NULL CHECK (bytes BETWEEN 1 AND 131072),
  version INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- The blob that the value is, where it is too large: `value` has a pointer then, `bytes` its size.
  blob_id TEXT,
  value TEXT NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(key AS BLOB))
      + length(CAST(value AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, instance, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_key_expiring ON working_key (expires_at);

CREATE TABLE working_log (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  entry TEXT NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(entry AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_log_expiring ON working_log (expires_at);

CREATE VIEW working_put AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS key, NULL AS value, NULL AS blob_id, NULL AS bytes,
  NULL AS ttl_ms,
  -- Whether the instance is a run, which has to be there.
  NULL AS of_run,
  -- The versions of which the key has to have one, as a JSON array of texts, "*" for any; and whether it has to be new.
  NULL AS if_match, NULL AS if_none_match,
  NULL AS now, NULL AS most_bytes, NULL AS most_keys, NULL AS most_instances;

CREATE TRIGGER working_put_done INSTEAD OF INSERT ON working_put
BEGIN
  SELECT CASE
    WHEN new.of_run AND NOT EXISTS (
      SELECT 1 FROM agent_runs
      WHERE agent_runs.tenant_id = new.tenant_id AND agent_runs.id = new.instance AND agent_runs.agent_id = new.agent_id
    ) THEN RAISE(ABORT, 'no_run')
    WHEN new.if_none_match AND EXISTS (
      SELECT 1 FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key = new.key AND held.expires_at > new.now
    ) THEN RAISE(ABORT, 'precondition_failed')
    WHEN new.if_match IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key = new.key AND held.expires_at > new.now AND EXISTS (
          SELECT 1 FROM json_each(new.if_match) AS wanted WHERE wanted.value IN ('*', CAST(held.version AS TEXT))
        )
    ) THEN RAISE(ABORT, 'precondition_failed')
    WHEN new.bytes + (
      SELECT coalesce(sum(held.bytes), 0) FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key <> new.key AND held.expires_at > new.now
    ) > new.most_bytes THEN RAISE(ABORT, 'over_budget')
    WHEN (
      SELECT count(*) FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key <> new.key AND held.expires_at > new.now
    ) >= new.most_keys THEN RAISE(ABORT, 'too_many_keys')
  END;
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.instance, 1, new.ttl_ms, new.now, new.most_instances);
  DELETE FROM working_key
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND expires_at <= new.now;
  INSERT INTO working_key (tenant_id, agent_id, instance, key, bytes, version, expires_at, blob_id, value)
  SELECT new.tenant_id, new.agent_id, new.instance, new.key, new.bytes, used.version, new.now + new.ttl_ms, new.blob_id,
    new.value
  FROM working_instance AS used
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance
  ON CONFLICT (tenant_id, agent_id, instance, key) DO UPDATE SET
    bytes = excluded.bytes, version = excluded.version, expires_at = excluded.expires_at, blob_id = excluded.blob_id,
    value = excluded.value;
END;

-- An insert gives out a number of versions of an instance, the last of which its row has then.
CREATE VIEW working_use AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS versions, NULL AS ttl_ms, NULL AS now,
  NULL AS most_instances;

CREATE TRIGGER working_use_done INSTEAD OF INSERT ON working_use
BEGIN
  SELECT RAISE(ABORT, 'too_many_instances')
  WHERE NOT EXISTS (
    SELECT 1 FROM working_instance AS used
    WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance
      AND used.expires_at > new.now
  ) AND (
    SELECT count(*) FROM working_instance AS other
    WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
  ) >= new.most_instances;
  INSERT INTO working_instance (tenant_id, agent_id, instance, version, expires_at)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.now + new.versions, new.now + new.ttl_ms)
  ON CONFLICT (tenant_id, agent_id, instance) DO UPDATE SET
    version = max(version, new.now) + new.versions, expires_at = max(expires_at, excluded.expires_at);
END;

CREATE VIEW working_log_append AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- [{"entry": JSON as text, "bytes": its size}, ...]
  NULL AS entries,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances;

CREATE TRIGGER working_log_append_done INSTEAD OF INSERT ON working_log_append
BEGIN
  SELECT CASE
    WHEN NOT EXISTS (
      SELECT 1 FROM agent_runs
      WHERE agent_runs.tenant_id = new.tenant_id AND agent_runs.id = new.run_id AND agent_runs.agent_id = new.agent_id
    ) THEN RAISE(ABORT, 'no_run')
    WHEN (SELECT sum(said.value ->> 'bytes') FROM json_each(new.entries) AS said) + (
      SELECT coalesce(sum(held.bytes), 0) FROM working_log AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.run_id = new.run_id
        AND held.expires_at > new.now
    ) > new.most_bytes THEN RAISE(ABORT, 'over_log')
  END;
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, json_array_length(new.entries), new.ttl_ms, new.now,
    new.most_instances);
  DELETE FROM working_log
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND run_id = new.run_id AND expires_at <= new.now;
  INSERT INTO working_log (tenant_id, agent_id, run_id, number, bytes, created_at, expires_at, entry)
  SELECT new.tenant_id, new.agent_id, new.run_id, used.version - json_array_length(new.entries) + 1 + said.key,
    said.value ->> 'bytes', new.now, new.now + new.ttl_ms, said.value ->> 'entry'
  FROM working_instance AS used CROSS JOIN json_each(new.entries) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id;
END;

CREATE TRIGGER working_key_changes_blob AFTER UPDATE OF blob_id ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (old.blob_id IS NOT new.blob_id)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, new.blob_id, TRUE WHERE new.blob_id IS NOT NULL;
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, old.blob_id, FALSE WHERE old.blob_id IS NOT NULL;
END;

CREATE TRIGGER working_key_leaves_blob AFTER DELETE ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.blob_id IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (old.tenant_id, old.agent_id, old.blob_id, FALSE);
END;

CREATE TRIGGER working_key_uses_blob AFTER INSERT ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.blob_id IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.blob_id, TRUE);
END;

CREATE TRIGGER working_instance_bytes_counted AFTER INSERT ON working_instance
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_instance_bytes_uncounted AFTER DELETE ON working_instance
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_counted AFTER INSERT ON working_key
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_recounted AFTER UPDATE ON working_key WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_uncounted AFTER DELETE ON working_key
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_log_bytes_counted AFTER INSERT ON working_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_log_bytes_uncounted AFTER DELETE ON working_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;


-- === Windows
-- The newest turns of a conversation, bounded by tokens, and summaries of the turns that fell out of it (ADR 0065).

CREATE TABLE working_window (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  -- The number and the bytes of its turns, and whether these are more than the window keeps.
  messages INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  over INTEGER NOT NULL DEFAULT 0 CHECK (over IN (0, 1)),
  -- The number of the turns that fell out of the window into long-term memory, and their first and last moments.
  fallen INTEGER NOT NULL DEFAULT 0,
  fallen_since INTEGER,
  fallen_until INTEGER,
  -- Until when a process moves turns, and when that was tried last.
  busy_until INTEGER NOT NULL DEFAULT 0,
  tried_at INTEGER NOT NULL DEFAULT 0,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB))
  ) VIRTUAL,
  -- The tokens of its turns; NULL: they were not counted yet.
  tokens INTEGER,
  PRIMARY KEY (tenant_id, agent_id, instance)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_window_expiring ON working_window (expires_at);
CREATE INDEX working_window_over ON working_window (tried_at) WHERE over = 1;

CREATE TABLE working_turn (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  place INTEGER NOT NULL,
  -- The id of the message that the turn becomes (app/domain/messages.py).
  id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
  said_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes BETWEEN 1 AND 32768),
  tokens INTEGER NOT NULL,
  -- The author of the turn, in the columns of an ingestion.
  written_by TEXT,
  written_through TEXT NOT NULL,
  issued_at INTEGER,
  speakers TEXT,
  content TEXT NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(content AS BLOB))
      + coalesce(length(CAST(speakers AS BLOB)), 0)
  ) VIRTUAL,
  -- Whether the caller has sent the number of its tokens; if not, it is estimated. NULL: the turn is older than the
  -- column.
  told INTEGER CHECK (told IN (0, 1)),
  PRIMARY KEY (tenant_id, agent_id, instance, place),
  UNIQUE (tenant_id, agent_id, instance, id)
) STRICT, WITHOUT ROWID;

-- A summary of turns that are memories now. The summary is deleted with its window.
CREATE TABLE working_summary (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  -- The places that its first and its last turn had, the number of turns, and when they were said.
  first_place INTEGER NOT NULL,
  last_place INTEGER NOT NULL CHECK (last_place >= first_place),
  turns INTEGER NOT NULL CHECK (turns > 0),
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  made_by TEXT NOT NULL CHECK (made_by IN ('model', 'reader', 'sentences')),
  -- The ids of the memories that its turns have become, as a JSON array: first all that its sentences rest on.
  memories TEXT NOT NULL CHECK (length(CAST(memories AS BLOB)) <= 16384),
  -- [{"text", "memories": the ids of the memories that the sentence rests on, "weight"}, ...]
  sentences TEXT NOT NULL CHECK (length(CAST(sentences AS BLOB)) <= 65536),
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(memories AS BLOB))
      + length(CAST(sentences AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, instance, last_place)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER working_summary_checked BEFORE INSERT ON working_summary
BEGIN
  SELECT RAISE(ABORT, 'no_summary')
  WHERE json_type(new.memories) <> 'array' OR json_type(new.sentences) <> 'array' OR EXISTS (
    SELECT 1 FROM json_each(new.sentences) AS sentence
    WHERE CASE sentence.type WHEN 'object' THEN
      json_type(sentence.value, '$.text') IS NOT 'text' OR json_type(sentence.value, '$.memories') IS NOT 'array'
        OR coalesce(json_type(sentence.value, '$.weight'), '') NOT IN ('integer', 'real')
      ELSE TRUE END
  );
END;

-- An insert adds turns to a window.
CREATE VIEW working_append AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- [{"id", "role", "content", "bytes", "tokens", "told", "said_at"}, ...], each id once and not known yet.
  NULL AS messages,
  -- Whether said_at counts from the moment of the append, because no times were sent.
  NULL AS untold,
  NULL AS written_by, NULL AS written_through, NULL AS issued_at, NULL AS speakers,
  NULL AS ttl_ms, NULL AS now, NULL AS kept_bytes, NULL AS kept_messages, NULL AS most_bytes, NULL AS most_messages,
  NULL AS most_instances, NULL AS kept_tokens;

CREATE TRIGGER working_append_done INSTEAD OF INSERT ON working_append
BEGIN
  SELECT RAISE(ABORT, 'over_window') WHERE json_array_length(new.messages) > 0 AND EXISTS (
    SELECT 1 FROM (
      SELECT coalesce(sum(held.bytes), 0) AS bytes, count(*) AS messages FROM working_turn AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
    ) AS held
    WHERE held.messages + json_array_length(new.messages) > new.most_messages
      OR held.bytes + (SELECT sum(said.value ->> 'bytes') FROM json_each(new.messages) AS said) > new.most_bytes
  );
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.instance, json_array_length(new.messages), new.ttl_ms, new.now,
    new.most_instances);
  INSERT INTO working_turn (tenant_id, agent_id, instance, place, id, role, said_at, bytes, tokens, told,
    written_by, written_through, issued_at, speakers, content)
  SELECT new.tenant_id, new.agent_id, new.instance, used.version - json_array_length(new.messages) + 1 + said.key,
    said.value ->> 'id', said.value ->> 'role',
    -- Turns without a time are placed behind those said before, at most an hour ahead of now.
    (said.value ->> 'said_at') + iif(new.untold, max(new.now, min(new.now + 3600000, 1 + (
      SELECT coalesce(max(before.said_at), 0) FROM working_turn AS before
      WHERE before.tenant_id = new.tenant_id AND before.agent_id = new.agent_id AND before.instance = new.instance
    ))), 0),
    said.value ->> 'bytes', said.value ->> 'tokens', said.value ->> 'told',
    new.written_by, new.written_through, new.issued_at, new.speakers, said.value ->> 'content'
  FROM working_instance AS used CROSS JOIN json_each(new.messages) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance;
  INSERT INTO working_window (tenant_id, agent_id, instance, expires_at)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.now + new.ttl_ms)
  ON CONFLICT (tenant_id, agent_id, instance) DO UPDATE SET expires_at = excluded.expires_at;
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages, kept_tokens)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages, new.kept_tokens);
END;

-- An insert counts the turns of a window again.
CREATE VIEW working_weigh AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS kept_bytes, NULL AS kept_messages,
  NULL AS kept_tokens;

CREATE TRIGGER working_weigh_done INSTEAD OF INSERT ON working_weigh
BEGIN
  UPDATE working_window SET (messages, bytes, tokens, over) = (
    SELECT count(*), coalesce(sum(held.bytes), 0), coalesce(sum(held.tokens), 0),
      coalesce(sum(held.bytes), 0) > new.kept_bytes OR count(*) > new.kept_messages
        -- The newest turn stays, whatever tokens it has.
        OR (count(*) > 1 AND coalesce(sum(held.tokens) > new.kept_tokens, 0))
    FROM working_turn AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
  )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance;
END;

-- An insert lets turns fall out of a window: those that are memories now, and those that can never become memories,
-- since the agent has no long-term memory or their author's credential was revoked. It is one statement, so that no
-- summary is ever made twice.
CREATE VIEW working_fall AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- The places of the turns, as a JSON array.
  NULL AS places,
  NULL AS now, NULL AS kept_bytes, NULL AS kept_messages, NULL AS kept_tokens,
  -- The summary of these turns, as an object of the columns of its table, with "instead_of": the summaries whose place it
  -- takes, [{"last_place", "turns"}, ...]. NULL: no summary is made. With a summary, all of its turns fall, or none
  -- does.
  NULL AS summary,
  -- Whether the turns fall without a summary, since the window's time has passed.
  NULL AS idle;

CREATE TRIGGER working_fall_done INSTEAD OF INSERT ON working_fall
BEGIN
  -- Nothing is done where a summary does not fit the turns, memories and summaries that are there now (a memory that it
  -- names may have been deleted while it was made), or where the window is in use again.
  SELECT RAISE(IGNORE) WHERE (new.summary IS NOT NULL OR new.idle) AND NOT EXISTS (
    SELECT 1 FROM working_window AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.instance = new.instance
      AND (new.summary IS NOT NULL OR own.expires_at <= new.now)
  ) OR new.summary IS NOT NULL AND (EXISTS (
    SELECT 1 FROM json_each(new.places) AS place
    WHERE NOT EXISTS (
      SELECT 1 FROM working_turn AS turn CROSS JOIN long_term_memory AS memory
      WHERE turn.tenant_id = new.tenant_id AND turn.agent_id = new.agent_id AND turn.instance = new.instance
        AND turn.place = place.value
        AND memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id AND memory.message_id = turn.id
        AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
    )
  ) OR EXISTS (
    SELECT 1 FROM json_each(new.summary, '$.instead_of') AS former
    WHERE NOT EXISTS (
      SELECT 1 FROM working_summary AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.last_place = former.value ->> 'last_place' AND held.turns = former.value ->> 'turns'
    )
  ) OR EXISTS (
    SELECT 1 FROM json_each(new.summary, '$.memories') AS named
    WHERE NOT EXISTS (
      SELECT 1 FROM long_term_memory AS memory
      WHERE memory.id = named.value AND +memory.tenant_id = new.tenant_id AND +memory.agent_id = new.agent_id
    )
  ));
  DELETE FROM working_summary
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance
    AND last_place IN (SELECT former.value ->> 'last_place' FROM json_each(new.summary, '$.instead_of') AS former);
  INSERT INTO working_summary (tenant_id, agent_id, instance, first_place, last_place, turns, since, until, made_by,
    memories, sentences)
  SELECT new.tenant_id, new.agent_id, new.instance, new.summary ->> 'first_place', new.summary ->> 'last_place',
    new.summary ->> 'turns', new.summary ->> 'since', new.summary ->> 'until', new.summary ->> 'made_by',
    new.summary -> 'memories', new.summary -> 'sentences'
  WHERE new.summary IS NOT NULL;
  UPDATE working_window SET
    fallen = fallen + gone.messages,
    fallen_since = min(coalesce(fallen_since, gone.since), gone.since),
    fallen_until = max(coalesce(fallen_until, gone.until), gone.until)
  FROM (
    SELECT count(*) AS messages, min(turn.said_at) AS since, max(turn.said_at) AS until
    FROM json_each(new.places) AS place CROSS JOIN working_turn AS turn
    WHERE turn.tenant_id = new.tenant_id AND turn.agent_id = new.agent_id AND turn.instance = new.instance
      AND turn.place = place.value AND EXISTS (
        SELECT 1 FROM long_term_memory AS memory
        WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id AND memory.message_id = turn.id
          AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
      )
  ) AS gone
  WHERE working_window.tenant_id = new.tenant_id AND working_window.agent_id = new.agent_id
    AND working_window.instance = new.instance AND gone.messages > 0;
  DELETE FROM working_turn
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance
    AND place IN (SELECT place.value FROM json_each(new.places) AS place)
    AND (
      EXISTS (
        SELECT 1 FROM long_term_memory AS memory
        WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id
          AND memory.message_id = working_turn.id AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
      )
      OR EXISTS (
        SELECT 1 FROM agent
        WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id AND NOT agent.long_term_enabled
      )
      OR EXISTS (
        SELECT 1 FROM revocation
        WHERE revocation.tenant_id = new.tenant_id AND (
          revocation.credential_id = working_turn.written_by
          OR revocation.credential_id = '' AND revocation.issued_before > working_turn.issued_at
        )
      )
    );
  DELETE FROM working_window
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND expires_at <= new.now
    AND NOT EXISTS (
      SELECT 1 FROM working_turn AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
    );
  DELETE FROM working_summary
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND NOT EXISTS (
    SELECT 1 FROM working_window AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.instance = new.instance
  );
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages, kept_tokens)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages, new.kept_tokens);
END;

-- The sentences of summaries that rest on a memory are deleted with the memory. A move of the tenant deletes memories
-- to write them anew, and carries summaries as they are.
CREATE TRIGGER long_term_memory_unsummarised AFTER DELETE ON long_term_memory
WHEN old.message_id IS NOT NULL AND old.session_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE working_summary SET
    memories = (
      SELECT json_group_array(memory.value) FROM json_each(working_summary.memories) AS memory
      WHERE memory.value <> old.id
    ),
    sentences = (
      SELECT json_group_array(json(sentence.value)) FROM json_each(working_summary.sentences) AS sentence
      WHERE NOT EXISTS (
        SELECT 1 FROM json_each(sentence.value, '$.memories') AS memory WHERE memory.value = old.id
      )
    )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND instance = old.session_id
    AND instr(memories, old.id) > 0;
END;

CREATE TRIGGER working_window_bytes_counted AFTER INSERT ON working_window
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_window_bytes_uncounted AFTER DELETE ON working_window
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_turn_bytes_counted AFTER INSERT ON working_turn
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_turn_bytes_uncounted AFTER DELETE ON working_turn
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_summary_bytes_counted AFTER INSERT ON working_summary
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_summary_bytes_recounted AFTER UPDATE ON working_summary
WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER working_summary_bytes_uncounted AFTER DELETE ON working_summary
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;


-- === Runs and episodes

-- Runs: each is one execution of an agent. The events of a run are its episodes (docs/tiers.md).
CREATE TABLE agent_runs (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
  -- {"input": the value that the run was started with, "episode_ids": [the ids of the episodes that it was given]}
  input TEXT NOT NULL CHECK (length(CAST(input AS BLOB)) <= 110000),
  output TEXT CHECK (length(CAST(output AS BLOB)) <= 100000),
  error TEXT CHECK (length(CAST(error AS BLOB)) <= 4096),
  -- The workflow that was selected for it last.
  workflow_id TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER CHECK ((ended_at IS NULL) = (status = 'running')),
  -- The blobs that the input and the output are, where they are too large: the columns have pointers then.
  input_blob TEXT,
  output_blob TEXT,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(input AS BLOB))
      + coalesce(length(CAST(output AS BLOB)), 0) + coalesce(length(CAST(error AS BLOB)), 0)
      + coalesce(length(CAST(workflow_id AS BLOB)), 0)
  ) VIRTUAL,
  -- Whether state and log of the run have its beginning (1) or its end (2); NULL: neither. So a run that is begun or
  -- ended again changes nothing.
  kept INTEGER CHECK (kept IN (1, 2)),
  -- The run that has begun this one for a part of its task. The values that the parent has handed over are
  -- `handed_over` in `input`, beside the input itself.
  parent_run_id TEXT,
  -- Whether its parent was deleted: the run is deleted too (app/storage/system/episodes.py, app/storage/erasures.py).
  parent_gone INTEGER CHECK (parent_gone = 1),
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_runs_newest ON agent_runs (tenant_id, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_agent ON agent_runs (tenant_id, agent_id, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_type ON agent_runs (tenant_id, agent_type, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_status ON agent_runs (tenant_id, status, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_parent ON agent_runs (tenant_id, parent_run_id, started_at DESC, id DESC)
WHERE parent_run_id IS NOT NULL;
CREATE INDEX agent_runs_without_parent ON agent_runs (tenant_id, id) WHERE parent_gone = 1;

-- Episodes: the events of runs (docs/tiers.md). A row is never changed: it is written once and pruned by its age.
CREATE TABLE memory_episodes (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  run_id TEXT NOT NULL,
  -- The agent and the agent type of its run.
  agent_id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  type TEXT NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
  content TEXT NOT NULL CHECK (length(CAST(content AS BLOB)) <= 32768),
  data TEXT NOT NULL CHECK (length(CAST(data AS BLOB)) <= 10240),
  occurred_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(type AS BLOB))
      + length(CAST(content AS BLOB)) + length(CAST(data AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, id)
) STRICT;
-- There is an index for each filter of a listing of the newest, so that an answer reads no more rows than it has.
CREATE INDEX memory_episodes_newest ON memory_episodes (tenant_id, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_type ON memory_episodes (tenant_id, agent_type, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_agent ON memory_episodes (tenant_id, agent_id, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_agent_type
  ON memory_episodes (tenant_id, agent_id, agent_type, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_run ON memory_episodes (tenant_id, run_id, created_at DESC, id DESC);

-- How many runs and episodes a tenant has, kept right by the triggers below in the statement that changes them.
CREATE TABLE episodic_count (
  tenant_id TEXT NOT NULL,
  runs INTEGER NOT NULL DEFAULT 0,
  episodes INTEGER NOT NULL DEFAULT 0,
  -- The last day (since the epoch, UTC) on which the tenant was warned that the limit is near.
  warned_day INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memory_episodes_counted AFTER INSERT ON memory_episodes
BEGIN
  INSERT INTO episodic_count (tenant_id, episodes) VALUES (new.tenant_id, 1)
  ON CONFLICT (tenant_id) DO UPDATE SET episodes = episodic_count.episodes + 1;
END;

CREATE TRIGGER memory_episodes_uncounted AFTER DELETE ON memory_episodes
BEGIN
  UPDATE episodic_count SET episodes = episodes - 1 WHERE tenant_id = old.tenant_id;
  DELETE FROM episodic_count WHERE tenant_id = old.tenant_id AND episodes <= 0 AND runs <= 0;
END;

CREATE TRIGGER agent_runs_counted AFTER INSERT ON agent_runs
BEGIN
  INSERT INTO episodic_count (tenant_id, runs) VALUES (new.tenant_id, 1)
  ON CONFLICT (tenant_id) DO UPDATE SET runs = episodic_count.runs + 1;
END;

CREATE TRIGGER agent_runs_uncounted AFTER DELETE ON agent_runs
BEGIN
  UPDATE episodic_count SET runs = runs - 1 WHERE tenant_id = old.tenant_id;
  DELETE FROM episodic_count WHERE tenant_id = old.tenant_id AND episodes <= 0 AND runs <= 0;
END;

CREATE TRIGGER agent_runs_changes_blob AFTER UPDATE OF output_blob ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (old.output_blob IS NULL AND new.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.output_blob, TRUE);
END;

CREATE TRIGGER agent_runs_leaves_blob AFTER DELETE ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.input_blob IS NOT NULL OR old.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, each.value, FALSE
  FROM json_each(json_array(old.input_blob, old.output_blob)) AS each WHERE each.value IS NOT NULL;
END;

CREATE TRIGGER agent_runs_uses_blob AFTER INSERT ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.input_blob IS NOT NULL OR new.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, each.value, TRUE FROM json_each(json_array(new.input_blob, new.output_blob)) AS each
  WHERE each.value IS NOT NULL;
END;

CREATE TRIGGER agent_runs_bytes_counted AFTER INSERT ON agent_runs
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes);
END;

CREATE TRIGGER agent_runs_bytes_recounted AFTER UPDATE ON agent_runs WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER agent_runs_bytes_uncounted AFTER DELETE ON agent_runs
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'episodic', -old.counted_bytes);
END;

CREATE TRIGGER memory_episodes_bytes_counted AFTER INSERT ON memory_episodes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes);
END;

CREATE TRIGGER memory_episodes_bytes_uncounted AFTER DELETE ON memory_episodes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'episodic', -old.counted_bytes);
END;

-- The trigger only marks the children: a trigger does not set itself off, so the children of children are marked when
-- their own parents go.
CREATE TRIGGER agent_runs_orphaned AFTER DELETE ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE agent_runs SET parent_gone = 1 WHERE tenant_id = old.tenant_id AND parent_run_id = old.id;
END;

-- The episodes, keys and log of a run that goes with its parent go too. Its tool calls stay as long as the audit does.
CREATE TRIGGER agent_runs_gone_with_parent AFTER DELETE ON agent_runs
WHEN old.parent_gone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM memory_episodes WHERE tenant_id = old.tenant_id AND run_id = old.id;
  DELETE FROM working_key WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND instance = old.id;
  DELETE FROM working_log WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND run_id = old.id;
END;

-- No run is above itself, and no run has more children than it may, however its row came: imports write rows without
-- the check of `run_write`. A circle of runs would keep each of its runs from being pruned. A trigger takes no
-- recursion: this one looks at as many runs as may be above a run, and refuses a run with more, so that no circle of
-- any length is closed. A parent without a row does not count: such a run is pruned and listed as any other.
CREATE TRIGGER agent_runs_ancestors BEFORE INSERT ON agent_runs
WHEN new.parent_run_id IS NOT NULL
  -- A run that is there stays as it is, and closes no circle.
  AND NOT EXISTS (SELECT 1 FROM agent_runs AS held WHERE held.tenant_id = new.tenant_id AND held.id = new.id)
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  SELECT RAISE(ABORT, 'own_ancestor') WHERE new.parent_run_id = new.id;
  -- As MAX_RUN_CHILDREN (app/domain/limits.py).
  SELECT RAISE(ABORT, 'children_full') WHERE (
    SELECT count(*) FROM (
      SELECT 1 FROM agent_runs AS child
      WHERE child.tenant_id = new.tenant_id AND child.parent_run_id = new.parent_run_id LIMIT 100
    )
  ) >= 100;
  SELECT CASE
    WHEN new.id IN (a.parent_run_id, b.parent_run_id, c.parent_run_id, d.parent_run_id, e.parent_run_id, f.parent_run_id,
      g.parent_run_id, h.parent_run_id) THEN RAISE(ABORT, 'own_ancestor')
    WHEN h.parent_run_id IS NOT NULL THEN RAISE(ABORT, 'too_deep')
  END
  FROM agent_runs AS a
  LEFT JOIN agent_runs AS b ON b.tenant_id = new.tenant_id AND b.id = a.parent_run_id
  LEFT JOIN agent_runs AS c ON c.tenant_id = new.tenant_id AND c.id = b.parent_run_id
  LEFT JOIN agent_runs AS d ON d.tenant_id = new.tenant_id AND d.id = c.parent_run_id
  LEFT JOIN agent_runs AS e ON e.tenant_id = new.tenant_id AND e.id = d.parent_run_id
  LEFT JOIN agent_runs AS f ON f.tenant_id = new.tenant_id AND f.id = e.parent_run_id
  LEFT JOIN agent_runs AS g ON g.tenant_id = new.tenant_id AND g.id = f.parent_run_id
  LEFT JOIN agent_runs AS h ON h.tenant_id = new.tenant_id AND h.id = g.parent_run_id
  WHERE a.tenant_id = new.tenant_id AND a.id = new.parent_run_id;
END;

-- The check of a write to a run, in the run of the database that makes the write. The trigger lets the write pass, or
-- stops it.
CREATE VIEW run_write AS
SELECT
  -- agent_id is the only agent whose run it may be; NULL: any agent's.
  NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- Whether the write begins the run, how many runs and episodes the tenant may have, and a JSON array of the episodes'
  -- ids.
  NULL AS begins, NULL AS most_runs, NULL AS most_episodes, NULL AS episode_ids,
  -- The parent of a run that begins, and the only agent whose run that may be; how many runs are above it, how many may
  -- be, and how many children a run may have.
  NULL AS parent_run_id, NULL AS parent_agent_id, NULL AS depth, NULL AS most_depth, NULL AS most_children;

CREATE TRIGGER run_write_checked INSTEAD OF INSERT ON run_write
BEGIN
  SELECT CASE
    -- A run that is there is begun again: its parent may have ended meanwhile.
    WHEN new.begins AND EXISTS (
      SELECT 1 FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    ) THEN NULL
    WHEN new.begins AND coalesce((
      SELECT held.runs FROM episodic_count AS held WHERE held.tenant_id = new.tenant_id
    ), 0) >= new.most_runs THEN RAISE(ABORT, 'runs_full')
    WHEN new.begins AND new.parent_run_id IS NULL THEN NULL
    WHEN new.begins THEN CASE
      WHEN NOT EXISTS (
        SELECT 1 FROM agent_runs AS parent
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND (new.parent_agent_id IS NULL OR parent.agent_id = new.parent_agent_id)
      ) THEN RAISE(ABORT, 'no_parent')
      WHEN EXISTS (
        SELECT 1 FROM agent_runs AS parent CROSS JOIN erasure
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND erasure.tenant_id = new.tenant_id AND erasure.agent_id = parent.agent_id AND erasure.receipt IS NULL
      ) THEN RAISE(ABORT, 'erasing')
      WHEN EXISTS (
        SELECT 1 FROM agent_runs AS parent
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND (parent.status <> 'running' OR parent.parent_gone)
      ) THEN RAISE(ABORT, 'parent_ended')
      WHEN new.depth > new.most_depth THEN RAISE(ABORT, 'too_deep')
      WHEN (
        SELECT count(*) FROM agent_runs AS child
        WHERE child.tenant_id = new.tenant_id AND child.parent_run_id = new.parent_run_id
      ) >= new.most_children THEN RAISE(ABORT, 'children_full')
    END
    WHEN NOT EXISTS (
      SELECT 1 FROM agent_runs AS run
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
        AND (new.agent_id IS NULL OR run.agent_id = new.agent_id)
    ) THEN RAISE(ABORT, 'no_run')
    -- A credential for all agents names none: the gate of all tiers has asked for the tenant alone.
    WHEN EXISTS (
      SELECT 1 FROM agent_runs AS run CROSS JOIN erasure
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
        AND erasure.tenant_id = new.tenant_id AND erasure.agent_id = run.agent_id AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
    WHEN EXISTS (
      SELECT 1 FROM json_each(new.episode_ids) AS given CROSS JOIN memory_episodes AS held
      WHERE held.tenant_id = new.tenant_id AND held.id = given.value AND held.run_id <> new.run_id
    ) THEN RAISE(ABORT, 'taken')
    WHEN NOT EXISTS (
      SELECT 1 FROM json_each(new.episode_ids) AS given
      WHERE NOT EXISTS (
        SELECT 1 FROM memory_episodes AS held WHERE held.tenant_id = new.tenant_id AND held.id = given.value
      )
    ) THEN NULL
    WHEN EXISTS (
      SELECT 1 FROM agent_runs AS run
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status <> 'running'
    ) THEN RAISE(ABORT, 'ended')
    WHEN coalesce((SELECT held.episodes FROM episodic_count AS held WHERE held.tenant_id = new.tenant_id), 0) + (
      SELECT count(DISTINCT given.value) FROM json_each(new.episode_ids) AS given
      WHERE NOT EXISTS (
        SELECT 1 FROM memory_episodes AS held WHERE held.tenant_id = new.tenant_id AND held.id = given.value
      )
    ) > new.most_episodes THEN RAISE(ABORT, 'episodes_full')
  END;
END;


-- === What runs leave in their working memory
-- The beginning and the end of a run write its turn state, and a write that names a run adds a row to the run's log
-- (docs/tiers.md). These writes never refuse the run of the database that they belong to: where there is no room,
-- nothing is written. The statements fill in the moment and the limits, as in working memory.

-- Entries for the log of a run.
CREATE VIEW run_log_note AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- [{"entry": JSON, "ago": how long ago it happened, in ms; absent: now}, ...]
  NULL AS entries,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances,
  -- The bytes that an entry counts beside its own.
  NULL AS overhead;

-- Appends entries to the log of a run of this agent, where there is such a run and room for all of them.
CREATE TRIGGER run_log_note_made INSTEAD OF INSERT ON run_log_note
WHEN json_array_length(new.entries) > 0
  AND EXISTS (
    SELECT 1 FROM agent_runs AS run
    WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.agent_id = new.agent_id
  )
  AND (
    EXISTS (
      SELECT 1 FROM working_instance AS used
      WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
        AND used.expires_at > new.now
    ) OR (
      SELECT count(*) FROM working_instance AS other
      WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
    ) < new.most_instances
  )
  AND (
    SELECT sum(new.overhead + length(CAST(said.value ->> 'entry' AS BLOB))) FROM json_each(new.entries) AS said
  ) + (
    SELECT coalesce(sum(held.bytes), 0) FROM working_log AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.run_id = new.run_id
      AND held.expires_at > new.now
  ) <= new.most_bytes
BEGIN
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, json_array_length(new.entries), new.ttl_ms, new.now,
    new.most_instances);
  DELETE FROM working_log
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND run_id = new.run_id AND expires_at <= new.now;
  INSERT INTO working_log (tenant_id, agent_id, run_id, number, bytes, created_at, expires_at, entry)
  SELECT new.tenant_id, new.agent_id, new.run_id, used.version - json_array_length(new.entries) + 1 + said.key,
    new.overhead + length(CAST(said.value ->> 'entry' AS BLOB)), new.now - coalesce(said.value ->> 'ago', 0),
    new.now + new.ttl_ms, said.value ->> 'entry'
  FROM working_instance AS used CROSS JOIN json_each(new.entries) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id;
END;

-- An insert puts a turn state in the place of the present one, where the instance of the run has room for it. The
-- expiry of a present state stays.
CREATE VIEW run_state_put AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id, NULL AS value,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances;

CREATE TRIGGER run_state_put_done INSTEAD OF INSERT ON run_state_put
WHEN (
    EXISTS (
      SELECT 1 FROM working_instance AS used
      WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
        AND used.expires_at > new.now
    ) OR (
      SELECT count(*) FROM working_instance AS other
      WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
    ) < new.most_instances
  )
  AND length('/state') + length(CAST(new.value AS BLOB)) + (
    SELECT coalesce(sum(held.bytes), 0) FROM working_key AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.run_id
      AND held.key <> '/state' AND held.expires_at > new.now
  ) <= new.most_bytes
BEGIN
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, 1, new.ttl_ms, new.now, new.most_instances);
  DELETE FROM working_key
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.run_id AND expires_at <= new.now;
  INSERT INTO working_key (tenant_id, agent_id, instance, key, bytes, version, expires_at, value)
  SELECT new.tenant_id, new.agent_id, new.run_id, '/state', length('/state') + length(CAST(new.value AS BLOB)),
    used.version, new.now + new.ttl_ms, new.value
  FROM working_instance AS used
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
  ON CONFLICT (tenant_id, agent_id, instance, key) DO UPDATE SET
    bytes = excluded.bytes, version = excluded.version, value = excluded.value;
END;

-- An insert writes the beginning, or the end, of a run into its working memory, each once. When a delegated run ends,
-- its keys and its state expire, and its result goes into its parent's log.
CREATE VIEW run_keep AS
SELECT NULL AS tenant_id, NULL AS run_id, NULL AS ttl_ms, NULL AS now,
  -- The limits on the bytes of an instance's keys, and of a log.
  NULL AS most_bytes, NULL AS most_log_bytes,
  NULL AS most_instances, NULL AS overhead,
  -- The bytes up to which the parent's log has an output as a whole.
  NULL AS most_result;

CREATE TRIGGER run_keep_begun INSTEAD OF INSERT ON run_keep
WHEN EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status = 'running' AND run.kept IS NULL
)
BEGIN
  INSERT INTO run_state_put (tenant_id, agent_id, run_id, value, ttl_ms, now, most_bytes, most_instances)
  SELECT run.tenant_id, run.agent_id, run.id, json_object('status', run.status, 'started_at',
      strftime('%Y-%m-%dT%H:%M:%fZ', run.started_at / 1000.0, 'unixepoch')),
    new.ttl_ms, new.now, new.most_bytes, new.most_instances
  FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND NOT EXISTS (
    SELECT 1 FROM working_key AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = run.agent_id AND held.instance = new.run_id
      AND held.key = '/state' AND held.expires_at > new.now
  );
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT run.tenant_id, run.agent_id, run.id, json_array(json_object('entry',
      json_object('event', 'started', 'episodes', json_array_length(run.input, '$.episode_ids')))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id;
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT parent.tenant_id, parent.agent_id, parent.id, json_array(json_object('entry', json_object(
      'event', 'child_started', 'run_id', run.id, 'agent_id', run.agent_id, 'agent_type', run.agent_type))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run CROSS JOIN agent_runs AS parent
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    AND parent.tenant_id = new.tenant_id AND parent.id = run.parent_run_id;
  UPDATE agent_runs SET kept = 1 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;

-- A state that the run's harness has set gets the two fields of the end if it is an object in its row; any other state
-- stays.
CREATE TRIGGER run_keep_ended INSTEAD OF INSERT ON run_keep
WHEN EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status <> 'running' AND run.kept IS NOT 2
)
BEGIN
  INSERT INTO run_state_put (tenant_id, agent_id, run_id, value, ttl_ms, now, most_bytes, most_instances)
  SELECT run.tenant_id, run.agent_id, run.id,
    json_set(
      coalesce(held.value, json_object('status', '', 'started_at',
        strftime('%Y-%m-%dT%H:%M:%fZ', run.started_at / 1000.0, 'unixepoch'))),
      '$.status', run.status,
      '$.ended_at', strftime('%Y-%m-%dT%H:%M:%fZ', run.ended_at / 1000.0, 'unixepoch')
    ),
    new.ttl_ms, new.now, new.most_bytes, new.most_instances
  FROM agent_runs AS run LEFT JOIN working_key AS held
    ON held.tenant_id = run.tenant_id AND held.agent_id = run.agent_id AND held.instance = run.id
    AND held.key = '/state' AND held.expires_at > new.now
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.parent_run_id IS NULL
    AND (held.value IS NULL OR (held.blob_id IS NULL AND json_type(held.value) = 'object'));
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT run.tenant_id, run.agent_id, run.id, json_array(json_object('entry',
      json_object('event', 'ended', 'status', run.status, 'ms', run.ended_at - run.started_at))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id;
  UPDATE working_key SET expires_at = min(expires_at, new.now)
  WHERE (tenant_id, agent_id, instance) IN (
    SELECT run.tenant_id, run.agent_id, run.id FROM agent_runs AS run
    WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.parent_run_id IS NOT NULL
  );
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT parent.tenant_id, parent.agent_id, parent.id, json_array(json_object('entry', CASE
      WHEN run.status = 'failed' THEN json_object('event', 'child_ended', 'run_id', run.id, 'agent_id', run.agent_id,
        'status', run.status, 'ms', run.ended_at - run.started_at, 'error', run.error)
      WHEN length(CAST(run.output AS BLOB)) > new.most_result THEN json_object('event', 'child_ended',
        'run_id', run.id, 'agent_id', run.agent_id, 'status', run.status, 'ms', run.ended_at - run.started_at,
        'output_bytes', length(CAST(run.output AS BLOB)))
      ELSE json_object('event', 'child_ended', 'run_id', run.id, 'agent_id', run.agent_id, 'status', run.status,
        'ms', run.ended_at - run.started_at, 'output', json(coalesce(run.output, 'null')))
    END)),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run CROSS JOIN agent_runs AS parent
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    AND parent.tenant_id = new.tenant_id AND parent.id = run.parent_run_id;
  UPDATE agent_runs SET kept = 2 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;


-- === Workflows
-- The weight of one credential in a workflow's outcomes has a bound and can be taken back
-- (docs/decisions/0045-outcomes-have-authors.md). Outcomes without an author, also those of an operator without a
-- credential, are counted in workflow.alpha and workflow.beta.

-- Workflows: ways to do a task, which compete for it (docs/tiers.md). A workflow has a Beta posterior of its rate of
-- success, from which selections draw.
CREATE TABLE workflow (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  task_type TEXT NOT NULL,
  alpha REAL NOT NULL DEFAULT 1 CHECK (alpha >= 1),
  beta REAL NOT NULL DEFAULT 1 CHECK (beta >= 1),
  discount REAL NOT NULL CHECK (discount > 0 AND discount <= 1),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- The spec comes behind the counts, so that a statement that counts outcomes does not read past it.
  spec TEXT NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 100000),
  -- The version of the text, whose author and time are in the next columns. NULL: the text is older than authors of
  -- texts.
  version INTEGER CHECK (version > 0),
  written_by TEXT,
  written_through TEXT,
  written_at INTEGER,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(task_type AS BLOB))
      + length(CAST(spec AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_of_task ON workflow (tenant_id, agent_type, task_type, id);

CREATE TABLE workflow_version (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  written_by TEXT,
  written_through TEXT,
  written_at INTEGER NOT NULL,
  spec TEXT NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 100000),
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(workflow_id AS BLOB)) + length(CAST(spec AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, workflow_id, version)
) STRICT, WITHOUT ROWID;

-- The first outcome of a run for a workflow, which alone counts. The row outlives the workflow, so that a report that
-- is repeated after a lost answer is not counted again.
CREATE TABLE workflow_outcome (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  run_id TEXT NOT NULL CHECK (length(run_id) = 26),
  score REAL NOT NULL CHECK (score >= 0 AND score <= 1),
  created_at INTEGER NOT NULL,
  -- NULL: the outcome was reported before outcomes had authors, or without a credential.
  written_by TEXT,
  written_through TEXT,
  -- The agent of the run.
  agent_id TEXT,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(workflow_id AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, workflow_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_outcome_age ON workflow_outcome (created_at);
CREATE INDEX workflow_outcome_of_scope ON workflow_outcome (tenant_id, coalesce(agent_id, ''));
CREATE INDEX workflow_outcome_newest ON workflow_outcome (tenant_id, created_at);
CREATE INDEX workflow_outcome_of_run ON workflow_outcome (tenant_id, run_id, created_at);
CREATE INDEX workflow_outcome_of_agent ON workflow_outcome (tenant_id, agent_id, created_at);
CREATE INDEX workflow_outcome_of_writer ON workflow_outcome (tenant_id, written_by, created_at);

-- The sums of the scores that one credential has reported, and of their distances from 1, after the fading of
-- discounts.
CREATE TABLE workflow_tally (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  written_by TEXT NOT NULL,
  -- The reach of the credential: one agent, all agents, or all agents as an administrator.
  author TEXT NOT NULL CHECK (author IN ('agent', 'tenant', 'admin')),
  -- The only agent that it was good for, or NULL.
  agent_id TEXT,
  successes REAL NOT NULL CHECK (successes >= 0),
  failures REAL NOT NULL CHECK (failures >= 0),
  counted_at INTEGER NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(workflow_id AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, workflow_id, written_by)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_tally_newest ON workflow_tally (tenant_id, workflow_id, counted_at);
CREATE INDEX workflow_tally_of_agent ON workflow_tally (tenant_id, agent_id, workflow_id);
-- An erasure of an agent, or of a tenant, finds tallies by this index.
CREATE INDEX workflow_tally_of_scope ON workflow_tally (tenant_id, coalesce(agent_id, ''));
CREATE INDEX workflow_tally_of_writer ON workflow_tally (tenant_id, written_by);

-- An insert counts an outcome. This is no trigger of the table, since an import brings outcomes that its workflows have
-- counted. ``only_agent`` is the only agent that its author's credential is good for, or NULL.
CREATE VIEW workflow_scoring AS
SELECT NULL AS tenant_id, NULL AS workflow_id, NULL AS run_id, NULL AS score, NULL AS agent_id, NULL AS written_by,
  NULL AS written_through, NULL AS author, NULL AS only_agent;

CREATE TRIGGER workflow_scored INSTEAD OF INSERT ON workflow_scoring
WHEN NOT EXISTS (
  SELECT 1 FROM workflow_outcome AS counted
  WHERE counted.tenant_id = new.tenant_id AND counted.workflow_id = new.workflow_id AND counted.run_id = new.run_id
)
BEGIN
  -- The counts without an author fade in all workflows of the task by their own discounts, and count the score of an
  -- outcome without an author. Nine decimals hold the sums of scores of six exactly, in whatever order they come, up to
  -- four million scores.
  UPDATE workflow SET
    alpha = round(1 + (alpha - 1) * discount + (id = new.workflow_id AND new.written_by IS NULL) * new.score, 9),
    beta = round(1 + (beta - 1) * discount + (id = new.workflow_id AND new.written_by IS NULL) * (1 - new.score), 9)
  WHERE tenant_id = new.tenant_id AND (discount < 1 OR id = new.workflow_id)
    -- Their ids are in the index workflow_of_task: no other workflow of the tenant is read.
    AND id IN (
      SELECT rival.id FROM workflow AS run CROSS JOIN workflow AS rival INDEXED BY workflow_of_task
      WHERE run.tenant_id = new.tenant_id AND run.id = new.workflow_id AND rival.tenant_id = new.tenant_id
        AND rival.agent_type = run.agent_type AND rival.task_type = run.task_type
    );
  -- An administrator's outcome, or an operator's, fades the tallies of all credentials. Any other outcome fades only
  -- the tallies of the same credential, and of credentials for the same agent: no caller fades the tallies of others.
  UPDATE workflow_tally SET (successes, failures) = (
    SELECT round(successes * faded.discount, 9), round(failures * faded.discount, 9)
    FROM workflow AS faded WHERE faded.tenant_id = workflow_tally.tenant_id AND faded.id = workflow_tally.workflow_id
  )
  WHERE tenant_id = new.tenant_id
    AND (
      coalesce(new.author, 'admin') = 'admin' OR written_by = new.written_by
      OR (author = 'agent' AND agent_id = new.only_agent)
    )
    AND workflow_id IN (
      SELECT rival.id FROM workflow AS run CROSS JOIN workflow AS rival INDEXED BY workflow_of_task
      WHERE run.tenant_id = new.tenant_id AND run.id = new.workflow_id AND rival.tenant_id = new.tenant_id
        AND rival.agent_type = run.agent_type AND rival.task_type = run.task_type AND rival.discount < 1
    );
  INSERT INTO workflow_tally (
    tenant_id, workflow_id, written_by, author, agent_id, successes, failures, counted_at
  )
  SELECT new.tenant_id, new.workflow_id, new.written_by, new.author, new.only_agent, new.score, round(1 - new.score, 9),
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  WHERE new.written_by IS NOT NULL
  ON CONFLICT (tenant_id, workflow_id, written_by) DO UPDATE SET
    successes = round(workflow_tally.successes + excluded.successes, 9),
    failures = round(workflow_tally.failures + excluded.failures, 9),
    author = excluded.author, agent_id = excluded.agent_id, counted_at = excluded.counted_at;
  INSERT INTO workflow_outcome (
    tenant_id, workflow_id, run_id, score, created_at, written_by, written_through, agent_id
  )
  VALUES (
    new.tenant_id, new.workflow_id, new.run_id, new.score,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), new.written_by, new.written_through, new.agent_id
  );
END;

CREATE TRIGGER workflow_bytes_counted AFTER INSERT ON workflow
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_bytes_recounted AFTER UPDATE ON workflow WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER workflow_bytes_uncounted AFTER DELETE ON workflow
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_outcome_bytes_counted AFTER INSERT ON workflow_outcome
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_outcome_bytes_uncounted AFTER DELETE ON workflow_outcome
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_version_bytes_counted AFTER INSERT ON workflow_version
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_version_bytes_uncounted AFTER DELETE ON workflow_version
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_counted AFTER INSERT ON workflow_tally
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_uncounted AFTER DELETE ON workflow_tally
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_recounted AFTER UPDATE OF agent_id ON workflow_tally
WHEN new.agent_id IS NOT old.agent_id
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes),
    (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;


-- === Shared context

-- Shared context: documents of a tenant that administrators write and all of its agents read, and the tenant's
-- configuration, which is the document of a name that no document can have (docs/tiers.md). A row is a version and is
-- never changed; the highest version of a name is the document.
CREATE TABLE context_versions (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  version INTEGER NOT NULL CHECK (version >= 1),
  size INTEGER NOT NULL CHECK (size = length(CAST(content AS BLOB)) AND size <= 100000),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  media_type TEXT NOT NULL CHECK (length(media_type) <= 128),
  updated_at INTEGER NOT NULL,
  -- The id by which a write that is made again finds the version that it has written.
  write_id TEXT NOT NULL,
  content TEXT NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(name AS BLOB)) + length(CAST(media_type AS BLOB)) + length(CAST(content AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, name, version)
) STRICT;
CREATE INDEX context_versions_sizes ON context_versions (tenant_id, name, version, size);

-- The highest version of the documents that a tenant has deleted: no version of a name comes back.
CREATE TABLE context_floor (
  tenant_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

-- The check of a new version, in the run that writes it. The trigger lets the write pass, or stops it.
CREATE VIEW context_write AS
SELECT
  NULL AS tenant_id, NULL AS name, NULL AS write_id, NULL AS size, NULL AS sha256, NULL AS media_type,
  -- A JSON array of versions as texts, of which the document has to have one; '*' is any. NULL: no version is required.
  NULL AS if_match,
  -- Whether there must be no document.
  NULL AS if_none_match,
  -- How many versions of a name are kept, how many documents and bytes the tenant may have, and the name whose document
  -- counts in neither.
  NULL AS kept, NULL AS most_documents, NULL AS most_bytes, NULL AS uncounted;

CREATE TRIGGER context_write_checked INSTEAD OF INSERT ON context_write
BEGIN
  SELECT CASE
    WHEN EXISTS (
      SELECT 1 FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name = new.name AND held.write_id = new.write_id
    ) THEN NULL
    WHEN new.if_none_match AND EXISTS (
      SELECT 1 FROM context_versions AS held WHERE held.tenant_id = new.tenant_id AND held.name = new.name
    ) THEN RAISE(ABORT, 'precondition')
    WHEN new.if_match IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM json_each(new.if_match) AS asked
      WHERE asked.value = coalesce((
        SELECT iif(asked.value = '*', '*', CAST(max(held.version) AS TEXT)) FROM context_versions AS held
        WHERE held.tenant_id = new.tenant_id AND held.name = new.name HAVING count(*) > 0
      ), '')
    ) THEN RAISE(ABORT, 'precondition')
    WHEN new.name = new.uncounted OR EXISTS (
      SELECT 1 FROM (
        SELECT last.sha256, last.media_type FROM context_versions AS last
        WHERE last.tenant_id = new.tenant_id AND last.name = new.name ORDER BY last.version DESC LIMIT 1
      ) AS now WHERE now.sha256 = new.sha256 AND now.media_type = new.media_type
    ) THEN NULL
    WHEN NOT EXISTS (
      SELECT 1 FROM context_versions AS held WHERE held.tenant_id = new.tenant_id AND held.name = new.name
    ) AND (
      SELECT count(DISTINCT held.name) FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name <> new.uncounted
    ) >= new.most_documents THEN RAISE(ABORT, 'documents_full')
    -- The versions that are deleted when this one is written do not count.
    WHEN new.size + (
      SELECT coalesce(sum(held.size), 0) FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name <> new.uncounted
        AND NOT (held.name = new.name AND held.version <= (
          SELECT max(last.version) + 1 - new.kept FROM context_versions AS last
          WHERE last.tenant_id = new.tenant_id AND last.name = new.name
        ))
    ) > new.most_bytes THEN RAISE(ABORT, 'bytes_full')
  END;
END;

CREATE TRIGGER context_versions_bytes_counted AFTER INSERT ON context_versions
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'shared_context', new.counted_bytes);
END;

CREATE TRIGGER context_versions_bytes_uncounted AFTER DELETE ON context_versions
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'shared_context', -old.counted_bytes);
END;


-- === What runs have done, and what recalls have returned
-- The trail of a run, and the audit beside the table audit (docs/tiers.md).

-- The tool calls of a run, in the order in which they arrived. No row has the text of a query, or of a memory.
CREATE TABLE tool_call_log (
  tenant_id TEXT NOT NULL,
  run_id TEXT NOT NULL CHECK (length(run_id) = 26),
  number INTEGER NOT NULL CHECK (number > 0),
  -- The caller's own id: a call that is sent again is known by it.
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  tool TEXT NOT NULL CHECK (length(tool) BETWEEN 1 AND 64),
  -- The input in canonical JSON, as the caller has sent it; NULL: only the hash was sent.
  input TEXT CHECK (input IS NULL OR json_valid(input)),
  input_hash TEXT NOT NULL CHECK (length(input_hash) = 64),
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'error')),
  error TEXT,
  output TEXT CHECK (output IS NULL OR json_valid(output)),
  -- A number of JSON, as text: a database that reads the number may round it.
  ms TEXT NOT NULL CHECK (json_valid(ms)),
  tokens INTEGER CHECK (tokens IS NULL OR tokens >= 0),
  -- The time of the call as its caller says.
  called_at INTEGER,
  -- The time of its arrival, never earlier than that of the call before.
  recorded_at INTEGER NOT NULL,
  written_by TEXT,
  -- Whether the call arrived after the end of its run: then the audit has it, and the replay, which does not change,
  -- has not.
  after_end INTEGER NOT NULL DEFAULT 0 CHECK (after_end IN (0, 1)),
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(tool AS BLOB)) + length(CAST(ms AS BLOB))
      + coalesce(length(CAST(input AS BLOB)), 0) + coalesce(length(CAST(error AS BLOB)), 0)
      + coalesce(length(CAST(output AS BLOB)), 0)
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, run_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tool_call_log_known ON tool_call_log (tenant_id, run_id, id);
CREATE INDEX tool_call_log_of_run ON tool_call_log (tenant_id, run_id, recorded_at);
CREATE INDEX tool_call_log_newest ON tool_call_log (tenant_id, recorded_at);
CREATE INDEX tool_call_log_of_agent ON tool_call_log (tenant_id, agent_id, recorded_at);
CREATE INDEX tool_call_log_of_writer ON tool_call_log (tenant_id, written_by, recorded_at);

CREATE TRIGGER tool_call_log_bounded BEFORE INSERT ON tool_call_log WHEN new.number > 10000
BEGIN
  SELECT RAISE(ABORT, 'tool_calls');
END;

CREATE TRIGGER tool_call_log_bytes_counted AFTER INSERT ON tool_call_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'audit', new.counted_bytes);
END;

CREATE TRIGGER tool_call_log_bytes_uncounted AFTER DELETE ON tool_call_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'audit', -old.counted_bytes);
END;

-- A recall, or how many recalls of a tenant left no row because the process had no room for more (agent_id is '' then).
CREATE TABLE recall_log (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  -- The run that the caller has named. It is not checked: a recall makes no further call.
  run_id TEXT CHECK (run_id IS NULL OR length(run_id) = 26),
  event TEXT NOT NULL CHECK (event IN ('recall', 'recalls_dropped')),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  recorded_at INTEGER NOT NULL,
  written_by TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recall_log_newest ON recall_log (tenant_id, recorded_at);
CREATE INDEX recall_log_of_run ON recall_log (tenant_id, run_id, recorded_at) WHERE run_id IS NOT NULL;
CREATE INDEX recall_log_of_agent ON recall_log (tenant_id, agent_id, recorded_at);
CREATE INDEX recall_log_of_writer ON recall_log (tenant_id, written_by, recorded_at);
CREATE INDEX recall_log_rare ON recall_log (tenant_id, event, recorded_at) WHERE event <> 'recall';


-- === Blobs

-- Blobs: content and values that are large or binary. A row describes an object; the object store has the object's
-- bytes under the key t/<tenant_id>/<id> (docs/tiers.md).
CREATE TABLE blob (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  -- '' where it belongs to all agents of the tenant.
  agent_id TEXT NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  size INTEGER NOT NULL CHECK (size >= 0),
  media_type TEXT NOT NULL CHECK (length(media_type) BETWEEN 3 AND 128),
  -- The row is written before its object and deleted after it, so that no object is without a row: 'writing' until the
  -- object is there, 'deleting' from before the object goes. Only 'stored' blobs are shown to callers.
  state TEXT NOT NULL CHECK (state IN ('writing', 'stored', 'deleting')),
  created_at INTEGER NOT NULL,
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + size + length(CAST(agent_id AS BLOB)) + length(CAST(media_type AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_newest ON blob (tenant_id, agent_id, created_at DESC, id DESC);
CREATE INDEX blob_unfinished ON blob (created_at, tenant_id, id) WHERE state <> 'stored';

-- A JSON value that is too large for its row is a blob of the row's agent: the row has a pointer in place of the value, and
-- names the blob. A change of the row changes the blob in the same statement, whichever it is: a row cannot point to a
-- blob that was given up, and a blob that no row points to any more is deleted (`prune`).
CREATE VIEW blob_use AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id,
  -- Whether a row points to the blob from now on, or no longer.
  NULL AS used;

CREATE TRIGGER blob_use_done INSTEAD OF INSERT ON blob_use
BEGIN
  SELECT RAISE(ABORT, 'blob_late') WHERE new.used AND NOT EXISTS (
    SELECT 1 FROM blob
    WHERE blob.tenant_id = new.tenant_id AND blob.id = new.id AND blob.agent_id = new.agent_id
      AND blob.state <> 'deleting'
  );
  UPDATE blob SET state = iif(new.used, 'stored', 'deleting')
  WHERE tenant_id = new.tenant_id AND id = new.id AND agent_id = new.agent_id;
END;

CREATE TRIGGER blob_bytes_counted AFTER INSERT ON blob
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'blobs', new.counted_bytes);
END;

CREATE TRIGGER blob_bytes_uncounted AFTER DELETE ON blob
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'blobs', -old.counted_bytes);
END;


-- === Consolidation

-- The runs and the merges of the weekly consolidation (docs/tiers.md). A row is one run of it over one tenant:
CREATE TABLE consolidation (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  -- NULL: the consolidation is under way, and goes on behind the agent ``after``.
  finished_at INTEGER,
  undone_at INTEGER,
  after TEXT NOT NULL DEFAULT '',
  memories INTEGER NOT NULL DEFAULT 0,
  facts INTEGER NOT NULL DEFAULT 0,
  chains INTEGER NOT NULL DEFAULT 0,
  tasks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

-- A memory, and another that restates it and is kept in its place. undone: the merge has no effect, and is not made
-- again.
CREATE TABLE consolidated (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  kept_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memory', 'fact')),
  undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1)),
  -- When the other memory was said, where that was after the kept one; NULL: the kept memory is the later one.
  said_again_at INTEGER,
  consolidation_id TEXT NOT NULL,
  consolidated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, other_id, kept_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidated_kept ON consolidated (tenant_id, agent_id, kept_id);
CREATE INDEX consolidated_again ON consolidated (tenant_id, agent_id, said_again_at) WHERE said_again_at IS NOT NULL;
CREATE INDEX consolidated_of ON consolidated (tenant_id, consolidation_id, undone);

-- A shortcut to the end of a chain of superseded memories: other_id leads to via_id, which leads over any others to
-- kept_id.
CREATE TABLE shortcut (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  kept_id TEXT NOT NULL,
  via_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, other_id, kept_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shortcut_kept ON shortcut (tenant_id, agent_id, kept_id);
CREATE INDEX shortcut_via ON shortcut (tenant_id, agent_id, via_id);

-- A source of a fact that was told in the words of the memory, and its confidence. The source is the run, the session
-- or the author, the first that is known.
CREATE TABLE fact_source (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  source TEXT NOT NULL,
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  written_by TEXT,
  PRIMARY KEY (tenant_id, agent_id, memory_id, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_source_named ON fact_source (tenant_id, source);
CREATE INDEX fact_source_writer ON fact_source (tenant_id, written_by) WHERE written_by IS NOT NULL;

-- A merge is two claims of a key of its own, which begins with "~=", as a relation with an effect is. Where the kept
-- memory was said before the other one, it counts as said once more right behind that.
CREATE TRIGGER consolidated_placed AFTER INSERT ON consolidated
WHEN NOT new.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id IN (new.other_id, new.kept_id)
    AND statements_read IS NULL;
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~=' || new.other_id || ':' || new.kept_id,
    iif(memory.id = other.id OR (memory.happened_at, memory.id) > (other.happened_at, other.id), memory.happened_at,
      other.happened_at + 1),
    memory.id, memory.id, memory.id = other.id
  FROM long_term_memory AS other CROSS JOIN long_term_memory AS kept CROSS JOIN long_term_memory AS memory
  WHERE other.id = new.other_id AND +other.tenant_id = new.tenant_id AND +other.agent_id = new.agent_id
    AND kept.id = new.kept_id AND +kept.tenant_id = new.tenant_id AND +kept.agent_id = new.agent_id
    AND memory.id IN (other.id, kept.id)
  ON CONFLICT DO NOTHING;
END;

-- The claims of a deleted merge go, as if it had never been made. The kept memory's claim goes first, so that the other
-- memory holds again.
CREATE TRIGGER consolidated_removed AFTER DELETE ON consolidated
WHEN NOT old.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.other_id AND via_id = old.kept_id OR via_id = old.other_id);
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id;
END;

CREATE TRIGGER consolidated_undone AFTER UPDATE OF undone ON consolidated
WHEN new.undone AND NOT old.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.other_id AND via_id = old.kept_id OR via_id = old.other_id);
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id;
END;

-- A shortcut is two claims as well ("~>"), neither of which is whole: a shortcut hides no memory by itself.
CREATE TRIGGER shortcut_placed AFTER INSERT ON shortcut
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~>' || new.other_id || ':' || new.kept_id,
    iif(memory.id = other.id OR (memory.happened_at, memory.id) > (other.happened_at, other.id), memory.happened_at,
      other.happened_at + 1),
    memory.id, memory.id, FALSE
  FROM long_term_memory AS other CROSS JOIN long_term_memory AS kept CROSS JOIN long_term_memory AS memory
  WHERE other.id = new.other_id AND +other.tenant_id = new.tenant_id AND +other.agent_id = new.agent_id
    AND kept.id = new.kept_id AND +kept.tenant_id = new.tenant_id AND +kept.agent_id = new.agent_id
    AND memory.id IN (other.id, kept.id)
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER shortcut_removed AFTER DELETE ON shortcut
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~>' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~>' || old.other_id || ':' || old.kept_id;
END;

-- A relation with an effect deletes each merge whose kept memory was said before the newer memory, and said again by the
-- other one after it: the memory said again holds by itself. If not, each of the three would lead to another of them.
CREATE TRIGGER relation_contradicts AFTER INSERT ON relation
WHEN new.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  DELETE FROM consolidated
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND NOT undone AND said_again_at >= (
    SELECT newer.happened_at FROM long_term_memory AS newer
    WHERE newer.id = new.newer_id AND +newer.tenant_id = new.tenant_id
  ) AND (
    SELECT (kept.happened_at, kept.id) < (newer.happened_at, newer.id)
    FROM long_term_memory AS kept CROSS JOIN long_term_memory AS newer
    WHERE kept.id = consolidated.kept_id AND +kept.tenant_id = new.tenant_id
      AND newer.id = new.newer_id AND +newer.tenant_id = new.tenant_id
  );
END;

-- A broken chain has no shortcuts: those over the deleted link go, and those that lead behind it.
CREATE TRIGGER relation_unlinks AFTER DELETE ON relation
WHEN old.effect = 'hides'
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.older_id AND via_id = old.newer_id OR via_id = old.older_id OR kept_id = old.newer_id);
END;

CREATE TRIGGER long_term_memory_unmerged AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.id OR via_id = old.id OR kept_id = old.id);
  DELETE FROM consolidated WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.id OR kept_id = old.id);
  DELETE FROM fact_source WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
END;

-- The memories and bytes of usage, but of the agent that has the canary.
CREATE TRIGGER long_term_memory_counted AFTER INSERT ON long_term_memory
WHEN new.agent_id <> 'memory-gateway:canary'
BEGIN
  INSERT INTO usage (tenant_id, agent_id, memories, bytes)
  SELECT new.tenant_id, value, 1, length(CAST(new.content AS BLOB)) + length(CAST(new.metadata AS BLOB))
  FROM json_each(json_array(new.agent_id, '')) WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    memories = usage.memories + 1, bytes = usage.bytes + excluded.bytes;
END;

CREATE TRIGGER long_term_memory_recounted AFTER UPDATE OF metadata ON long_term_memory
WHEN old.metadata <> new.metadata AND new.agent_id <> 'memory-gateway:canary'
BEGIN
  UPDATE usage
  SET bytes = usage.bytes + length(CAST(new.metadata AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = new.tenant_id AND usage.agent_id IN (new.agent_id, '');
END;

CREATE TRIGGER long_term_memory_uncounted AFTER DELETE ON long_term_memory
WHEN old.agent_id <> 'memory-gateway:canary'
BEGIN
  UPDATE usage
  SET memories = usage.memories - 1,
    bytes = usage.bytes - length(CAST(old.content AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = old.tenant_id AND usage.agent_id IN (old.agent_id, '');
END;


-- === The archive, and snapshots

-- Items that were moved out of the database because they are old (docs/decisions/0069-archive.md): the object is the
-- agent's blob of the same id, an export of these items alone. The row is written in the run that deletes the items.
CREATE TABLE archive (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memories', 'episodes', 'runs')),
  items INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  -- The ranges of the items' moments, and of their ids, by which an item is found.
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  first_id TEXT NOT NULL,
  last_id TEXT NOT NULL,
  archived_at INTEGER NOT NULL,
  -- Restored items stay out of the archive until this moment (docs/decisions/0072-restored-archives.md): the row of the
  -- object stays until then, and its blob goes at once. The object is not in the archive any more.
  restored_until INTEGER,
  -- The ends of the ids of its items: by these the one object that has an item is found among all objects of a time,
  -- also those of other agents. NULL: the object was archived by code that wrote no ends, and its range of ids has to
  -- do.
  id_ends TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX archive_of_agent ON archive (tenant_id, agent_id, kind, last_at);
CREATE INDEX archive_restored ON archive (tenant_id, agent_id, kind, last_at) WHERE restored_until IS NOT NULL;

CREATE TRIGGER archive_leaves_blob AFTER DELETE ON archive
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE blob SET state = 'deleting' WHERE tenant_id = old.tenant_id AND id = old.id AND agent_id = old.agent_id;
END;

CREATE TRIGGER restored_archive_leaves_blob AFTER UPDATE OF restored_until ON archive
WHEN old.restored_until IS NULL AND new.restored_until IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried
)
BEGIN
  UPDATE blob SET state = 'deleting' WHERE tenant_id = old.tenant_id AND id = old.id AND agent_id = old.agent_id;
END;

-- Every run of a restore inserts here first: the run is refused where the object was erased, or restored, since it was
-- read.
CREATE VIEW archive_restore AS SELECT NULL AS tenant_id, NULL AS id;

CREATE TRIGGER archive_restore_checked INSTEAD OF INSERT ON archive_restore
WHEN NOT EXISTS (
  SELECT 1 FROM archive WHERE archive.tenant_id = new.tenant_id AND archive.id = new.id AND archive.restored_until IS NULL
)
BEGIN
  SELECT RAISE(ABORT, 'erasing');
END;

-- Snapshots: exports in the object store, under the keys s/<tenant_id>/<id>/... (docs/decisions/0068-snapshots.md). The row
-- is written before the objects and deleted after them: so an erasure knows of all objects that may hold data of its
-- scope.
CREATE TABLE snapshot (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  -- 'writing' until its manifest is there, 'deleting' from before its objects go.
  state TEXT NOT NULL CHECK (state IN ('writing', 'stored', 'deleting')),
  -- The bytes of its parts that are written, or just being written.
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  -- The agents whose rows the snapshot has, as a list in JSON; NULL: it may have those of any agent.
  agents TEXT CHECK (agents IS NULL OR json_valid(agents)),
  created_at INTEGER NOT NULL,
  -- When the last object was begun: a while after, no object is on its way any more.
  renewed_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

-- Code that knows no snapshots writes no receipt for a scope with a snapshot: the next version goes on with the
-- erasure.
CREATE TRIGGER erasure_waits_for_snapshots BEFORE UPDATE OF receipt ON erasure
WHEN new.receipt IS NOT NULL AND old.receipt IS NULL AND EXISTS (
  SELECT 1 FROM snapshot WHERE snapshot.tenant_id = new.tenant_id AND (
    new.agent_id IS NULL OR snapshot.agents IS NULL
    OR EXISTS (SELECT 1 FROM json_each(snapshot.agents) AS held WHERE held.value = new.agent_id)
  )
)
BEGIN
  SELECT RAISE(IGNORE);
END;

-- The same for snapshots: the run is refused where data of the tenant were erased since the restore has begun.
CREATE VIEW snapshot_restore AS SELECT NULL AS tenant_id, NULL AS since;

CREATE TRIGGER snapshot_restore_checked INSTEAD OF INSERT ON snapshot_restore
WHEN EXISTS (SELECT 1 FROM erasure WHERE erasure.tenant_id = new.tenant_id AND erasure.accepted_at >= new.since)
BEGIN
  SELECT RAISE(ABORT, 'erasing');
END;


-- === Shards

-- Shards (docs/decisions/0041-shards.md). Only the first shard's database has rows in the directory, which names the
-- shards beside the first, the place of each tenant, and the moves under way. A tenant without a row lives in the first
-- shard.
CREATE TABLE shards (
  name TEXT NOT NULL PRIMARY KEY CHECK (name <> 'main' AND length(name) BETWEEN 1 AND 16),
  -- NULL on the embedded default, where a shard is a file of the data directory.
  database_id TEXT UNIQUE,
  -- By the database's clock, in milliseconds since the epoch, as all moments here.
  added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_places (
  tenant_id TEXT NOT NULL PRIMARY KEY,
  shard TEXT NOT NULL,
  -- The epoch grows by one with each move; 0 is only in the first shard.
  epoch INTEGER NOT NULL CHECK (epoch >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_moves (
  tenant_id TEXT NOT NULL PRIMARY KEY,
  source TEXT NOT NULL,
  target TEXT NOT NULL CHECK (target <> source),
  -- The epoch that begins when the tenant lives in the target.
  epoch INTEGER NOT NULL CHECK (epoch > 0),
  -- copy: the tenant lives in the source; drop: it lives in the target, and its rows in the source go.
  phase TEXT NOT NULL DEFAULT 'copy' CHECK (phase IN ('copy', 'drop')),
  -- How far the copy is: the table, and the key of the last row.
  progress TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(progress)),
  -- The process that moves the tenant, and the moment until which no other process may.
  mover TEXT NOT NULL,
  leased_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The state of a tenant in this database. A tenant without a row lives in the first shard with epoch 0, and in no
-- other.
CREATE TABLE tenant_epochs (
  tenant_id TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  -- here: the tenant is served; leaving: it is served, and changed rows are noted; arriving: a move is writing its
  -- rows; gone: the tenant lives in the shard and with the epoch of the last two columns.
  state TEXT NOT NULL CHECK (state IN ('here', 'leaving', 'arriving', 'gone')),
  -- Whether rows are written and deleted as another database has them: then triggers make no changes of their own.
  carried INTEGER NOT NULL GENERATED ALWAYS AS (state IN ('arriving', 'gone')) VIRTUAL,
  mover TEXT,
  -- Until then the tenant's requests write nothing.
  fenced_until INTEGER NOT NULL DEFAULT 0,
  to_shard TEXT,
  to_epoch INTEGER,
  CHECK ((state = 'gone') = (to_shard IS NOT NULL AND to_epoch IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- Rows of leaving tenants that have changed since the move read them: the table and the row's primary key, as JSON.
CREATE TABLE tenant_changes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL
) STRICT;
CREATE INDEX tenant_changes_of_tenant ON tenant_changes (tenant_id, number);

-- Numbers of rows are a database's own: where a moved row had one, it gets another (docs/decisions/0041-shards.md).
CREATE TABLE tenant_renumbered (
  tenant_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  source_number INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, table_name, source_number)
) STRICT, WITHOUT ROWID;

-- The first statement of every run that writes for a tenant, where there are shards. An epoch of NULL stands for any.
CREATE VIEW tenant_presence AS SELECT NULL AS tenant_id, NULL AS epoch;

-- The first statement of every run in which a move writes a tenant's rows: only one process at a time moves a tenant, and
-- a run that arrives late changes nothing once the tenant is served.
CREATE VIEW tenant_carrying AS SELECT NULL AS tenant_id, NULL AS mover, NULL AS state;

CREATE TRIGGER tenant_carrying_checked INSTEAD OF INSERT ON tenant_carrying
BEGIN
  SELECT RAISE(ABORT, 'not_carried') WHERE NOT EXISTS (
    SELECT 1 FROM tenant_epochs
    WHERE tenant_id = new.tenant_id AND mover = new.mover AND state = new.state
  );
END;

-- The first statement of the run that ends the noting of changes.
CREATE VIEW tenant_noting AS SELECT NULL AS ended;

CREATE TRIGGER tenant_noting_ended INSTEAD OF INSERT ON tenant_noting
BEGIN
  SELECT RAISE(ABORT, 'noting') WHERE EXISTS (SELECT 1 FROM tenant_epochs WHERE state = 'leaving');
END;

CREATE TRIGGER tenant_presence_checked INSTEAD OF INSERT ON tenant_presence
BEGIN
  SELECT RAISE(ABORT, 'moved') FROM (
    SELECT coalesce(
      (SELECT iif(state IN ('here', 'leaving'), epoch, -1) FROM tenant_epochs WHERE tenant_id = new.tenant_id), 0
    ) AS epoch
  ) AS lives WHERE lives.epoch < 0 OR lives.epoch <> coalesce(new.epoch, lives.epoch);
  SELECT RAISE(ABORT, 'moving') WHERE EXISTS (
    SELECT 1 FROM tenant_epochs
    WHERE tenant_id = new.tenant_id AND fenced_until > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
      AND fenced_until <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + 6000
  );
END;


-- === Which code may run beside which migration

-- Code may run beside a migration if it knows the migration ``oldest``. Each migration from this one on writes its row.
-- Running code reads the rows of the migrations that it does not know, and stops where one has no row.
CREATE TABLE schema_compatibility (
  name TEXT PRIMARY KEY,
  oldest TEXT NOT NULL
) STRICT, WITHOUT ROWID;


-- === The rows of a new database

INSERT INTO memory_words (memory_words, rank) VALUES ('rank', 'bm25(0, 1, 1)');
-- FTS5 has an index in b-trees, one for each few writes, and each query looks into every b-tree. It merges four of a size by
-- itself. With this setting the command 'merge' (app/storage/system/words_index.py) merges two of a size.
INSERT INTO memory_words (memory_words, rank) VALUES ('usermerge', 2);
-- FTS5 only marks the words of a deleted memory as deleted, until it merges the b-tree that holds them. With this setting it takes
-- them out at once (https://www.sqlite.org/fts5.html#the_secure_delete_configuration_option). SQLite has known it since 3.42, as it
-- has the modifier subsec; an older one would refuse the statement.
INSERT INTO memory_words (memory_words, rank) SELECT 'secure-delete', 1 WHERE strftime('%f', 0, 'subsec') IS NOT NULL;
INSERT INTO words_index (one, old_blocks) VALUES (1, 0);

INSERT INTO schema_compatibility (name, oldest) VALUES
  ('0037_compatibility.sql', '0036_quota_of_all_tiers.sql'),
  ('0038_moments_read_again.sql', '0037_compatibility.sql'),
  ('0039_void_leases.sql', '0037_compatibility.sql'),
  ('0040_words_rebuilt.sql', '0037_compatibility.sql'),
  ('0041_reconcile_repairs.sql', '0037_compatibility.sql'),
  ('0042_relations.sql', '0037_compatibility.sql'),
  ('0043_keys_as_told.sql', '0037_compatibility.sql'),
  ('0044_claims_wait.sql', '0037_compatibility.sql'),
  ('0045_runs_keep_themselves.sql', '0037_compatibility.sql'),
  ('0046_delegated_runs.sql', '0037_compatibility.sql'),
  ('0047_window_summaries.sql', '0037_compatibility.sql'),
  ('0048_consolidation.sql', '0037_compatibility.sql'),
  ('0049_snapshots_and_archive.sql', '0037_compatibility.sql'),
  ('0050_ancestors_end.sql', '0037_compatibility.sql'),
  ('0051_superseded_claims.sql', '0037_compatibility.sql'),
  ('0052_restored_archives.sql', '0037_compatibility.sql'),
  ('0053_credentials.sql', '0037_compatibility.sql'),
  ('0054_administrative_acts.sql', '0037_compatibility.sql'),
  ('0055_canaries_and_golden_questions.sql', '0037_compatibility.sql'),
  ('0056_changed_memories.sql', '0037_compatibility.sql'),
  ('0057_removals_of_words.sql', '0037_compatibility.sql'),
  ('0058_typed_and_told.sql', '0037_compatibility.sql');
