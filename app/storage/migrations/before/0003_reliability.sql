-- What the index has been told and shows, who tells it, and what is being erased.
-- Times are milliseconds since the Unix epoch by the database's own clock, except acknowledged_at: by the index's.

ALTER TABLE outbox ADD COLUMN acknowledged_at INTEGER;
-- Known to be visible in the index; still scored by recall for a while (docs/reliability.md).
ALTER TABLE outbox ADD COLUMN confirmed_at INTEGER;
-- How often the index has refused this vector for what it is, and its last words once it is no longer sent.
ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN dead TEXT;
-- When the indexer has something to do with the row; 2^53 - 1: not before somebody asks for it.
ALTER TABLE outbox ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX outbox_due ON outbox (due_at);

-- Who may do what only one process should do at a time.
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
  receipt TEXT CHECK (receipt IS NULL OR json_valid(receipt))
) STRICT;

CREATE INDEX erasure_of_tenant ON erasure (tenant_id, agent_id);
CREATE INDEX erasure_under_way ON erasure (advanced_at) WHERE receipt IS NULL;

-- Where a comparison of the index with the database stands, and the ids that the index has listed so far.
CREATE TABLE reconcile (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('listing', 'missing')),
  cursor TEXT,
  findings TEXT NOT NULL CHECK (json_valid(findings))
) STRICT;

CREATE TABLE reconcile_listed (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- More kinds of events, and events that concern no single memory.
CREATE TABLE audit_next (
  number INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT,
  memory_id TEXT,
  event TEXT NOT NULL CHECK (event IN ('stored', 'deleted', 'erased', 'outbox_dropped')),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  created_at INTEGER NOT NULL
) STRICT;

INSERT INTO audit_next (number, tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT number, tenant_id, agent_id, memory_id, event, detail, created_at FROM audit;

DROP TABLE audit;

ALTER TABLE audit_next RENAME TO audit;
