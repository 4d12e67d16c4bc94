-- Vector indexes that are being made: until a probe is found through every filter, nothing else is sent to them.
-- The row is written before the index is created, and deleted after what was acknowledged meanwhile is queued again.
CREATE TABLE index_build (
  index_name TEXT PRIMARY KEY,
  began_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every process hears of it from the next run that it makes for a request.
DROP VIEW service_state;

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

-- A reconcile also compares what the index shows of each memory. One that is under way begins anew.
DROP TABLE reconcile;

CREATE TABLE reconcile (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  index_name TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('listing', 'missing', 'comparing')),
  cursor TEXT,
  findings TEXT NOT NULL CHECK (json_valid(findings))
) STRICT;
