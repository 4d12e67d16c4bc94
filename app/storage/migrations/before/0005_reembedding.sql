-- Up to two embedding configs at once, each with its own index, while the data moves from one to the other.

-- The configs that are kept up to date: the one in use, and while the data is being re-embedded another.
CREATE TABLE embedding_config (
  index_name TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO embedding_config (index_name, provider, model, dimensions)
SELECT index_name, provider, model, dimensions FROM embedding_in_use;

-- Rises with every change of what is in use or kept beside it: of two looks it tells the later one.
ALTER TABLE embedding_in_use ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

-- Tenants whose recalls use another config than the one in embedding_in_use.
CREATE TABLE embedding_of_tenant (
  tenant_id TEXT PRIMARY KEY,
  index_name TEXT NOT NULL
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

-- A vector is queued for each config's index.
CREATE TABLE outbox_next (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  index_name TEXT NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('upsert', 'delete')),
  revision INTEGER NOT NULL CHECK (revision > 0),
  vector TEXT CHECK ((vector IS NOT NULL) = (operation = 'upsert')),
  acknowledged_at INTEGER,
  confirmed_at INTEGER,
  refusals INTEGER NOT NULL DEFAULT 0,
  dead TEXT,
  due_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, agent_id, id, index_name)
) STRICT, WITHOUT ROWID;

INSERT INTO outbox_next (
  tenant_id, agent_id, id, index_name, operation, revision, vector, acknowledged_at, confirmed_at, refusals, dead, due_at
)
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, in_use.index_name, outbox.operation, outbox.revision, outbox.vector,
  outbox.acknowledged_at, outbox.confirmed_at, outbox.refusals, outbox.dead, outbox.due_at
FROM outbox CROSS JOIN embedding_in_use AS in_use;

DROP TABLE outbox;

ALTER TABLE outbox_next RENAME TO outbox;

CREATE INDEX outbox_due ON outbox (due_at);
