-- The tables of long-term memory. Times are milliseconds since the Unix epoch, UTC.
-- The CHECK constraints restate the limits of app/limits.py: no writer can get past them.

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
  created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX long_term_memory_content ON long_term_memory (tenant_id, agent_id, content_hash);
CREATE INDEX long_term_memory_newest ON long_term_memory (tenant_id, agent_id, created_at DESC);

CREATE TRIGGER long_term_memory_created_at_is_final
BEFORE UPDATE OF created_at ON long_term_memory
BEGIN
  SELECT RAISE(ABORT, 'created_at may not change');
END;

-- What the index has still to be told, one row for a memory. A row lives until its revision is known to
-- be visible in the index. The revision is the database's clock when it was queued, made to rise.
CREATE TABLE outbox (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  operation TEXT NOT NULL CHECK (operation IN ('upsert', 'delete')),
  revision INTEGER NOT NULL CHECK (revision > 0),
  vector TEXT CHECK ((vector IS NOT NULL) = (operation = 'upsert')),
  PRIMARY KEY (tenant_id, agent_id, id)
) STRICT, WITHOUT ROWID;

-- The one embedding config that the vectors of this database are made with.
CREATE TABLE embedding_in_use (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL
) STRICT;
