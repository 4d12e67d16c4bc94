-- Shards (docs/decisions/0041-shards.md). The directory, whose rows only the first shard's database has: which shards there
-- are beside the first, where each tenant lives, and which moves are under way. A tenant without a row lives in the first.
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
  -- It grows by one with each move; 0 is only in the first shard.
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
  -- Which process moves the tenant, and until when no other may.
  mover TEXT NOT NULL,
  leased_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How a tenant lives in this database. Without a row it lives in the first shard with epoch 0, and in no other.
CREATE TABLE tenant_epochs (
  tenant_id TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  -- here: it is served; leaving: it is served, and what changes is noted; arriving: its rows are being written by a move;
  -- gone: it lives in the shard and with the epoch of the last two columns.
  state TEXT NOT NULL CHECK (state IN ('here', 'leaving', 'arriving', 'gone')),
  -- Rows are written and deleted as another database has them: triggers add nothing of their own.
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
  );
END;

-- The first statement of every run in which a move writes a tenant's rows: only one process at a time moves a tenant, and
-- what it sends late changes nothing once the tenant is served.
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

-- How many shards there are beside the first: every process hears of a new one from the next request that it answers.
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

-- Where the rows of a tenant are written as another database has them, these triggers do nothing: what they would write
-- comes as rows of its own. They are as before otherwise.

DROP TRIGGER claim_placed;
CREATE TRIGGER claim_placed AFTER INSERT ON claim
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 1
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id AND statements_read IS NULL;
  -- The version before it ends with it, where that has another value.
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
  -- Of a key at most 500 are kept: what came before them stays superseded for good.
  DELETE FROM claim
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND (happened_at, memory_id) <= (
      SELECT old.happened_at, old.memory_id FROM claim AS old
      WHERE old.tenant_id = new.tenant_id AND old.agent_id = new.agent_id AND old.key = new.key
      ORDER BY old.happened_at DESC, old.memory_id DESC LIMIT 1 OFFSET 500
    );
END;

DROP TRIGGER claim_removed;
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

DROP TRIGGER claim_superseded;
CREATE TRIGGER claim_superseded AFTER UPDATE OF superseded_at ON claim
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.whole AND new.superseded_at IS NOT old.superseded_at)
BEGIN
  UPDATE long_term_memory SET superseded_at = new.superseded_at
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

DROP TRIGGER long_term_memory_followed;
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

DROP TRIGGER long_term_memory_follows;
CREATE TRIGGER long_term_memory_follows AFTER UPDATE OF superseded_at, forgotten_at ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.learned IS NOT NULL
  AND (new.superseded_at IS NOT old.superseded_at OR new.forgotten_at IS NOT old.forgotten_at))
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

DROP TRIGGER long_term_memory_learned;
CREATE TRIGGER long_term_memory_learned AFTER INSERT ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.learned IS NOT NULL)
BEGIN
  INSERT INTO memory_source (tenant_id, agent_id, message_id, memory_id)
  SELECT new.tenant_id, new.agent_id, cited.value, new.id FROM json_each(new.learned, '$.message_ids') AS cited
  WHERE TRUE ON CONFLICT DO NOTHING;
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

DROP TRIGGER long_term_memory_not_learned;
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

DROP TRIGGER long_term_memory_restored;
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

DROP TRIGGER long_term_memory_said;
CREATE TRIGGER long_term_memory_said AFTER INSERT ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.message_id IS NOT NULL AND coalesce(new.forgotten_at, new.expires_at) IS NOT NULL)
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id)
  SELECT source.tenant_id, source.agent_id, source.memory_id FROM memory_source AS source
  WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.message_id = new.message_id;
END;

DROP TRIGGER long_term_memory_superseded;
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

DROP TRIGGER long_term_memory_unclaimed;
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

DROP TRIGGER long_term_memory_unlearned;
CREATE TRIGGER long_term_memory_unlearned AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.learned IS NOT NULL)
BEGIN
  DELETE FROM memory_source
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
END;

DROP TRIGGER agent_runs_changes_blob;
CREATE TRIGGER agent_runs_changes_blob AFTER UPDATE OF output_blob ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (old.output_blob IS NULL AND new.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.output_blob, TRUE);
END;

DROP TRIGGER agent_runs_leaves_blob;
CREATE TRIGGER agent_runs_leaves_blob AFTER DELETE ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.input_blob IS NOT NULL OR old.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, each.value, FALSE
  FROM json_each(json_array(old.input_blob, old.output_blob)) AS each WHERE each.value IS NOT NULL;
END;

DROP TRIGGER agent_runs_uses_blob;
CREATE TRIGGER agent_runs_uses_blob AFTER INSERT ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.input_blob IS NOT NULL OR new.output_blob IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, each.value, TRUE FROM json_each(json_array(new.input_blob, new.output_blob)) AS each
  WHERE each.value IS NOT NULL;
END;

DROP TRIGGER working_key_changes_blob;
CREATE TRIGGER working_key_changes_blob AFTER UPDATE OF blob_id ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (old.blob_id IS NOT new.blob_id)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, new.blob_id, TRUE WHERE new.blob_id IS NOT NULL;
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, old.blob_id, FALSE WHERE old.blob_id IS NOT NULL;
END;

DROP TRIGGER working_key_leaves_blob;
CREATE TRIGGER working_key_leaves_blob AFTER DELETE ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
  AND (old.blob_id IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (old.tenant_id, old.agent_id, old.blob_id, FALSE);
END;

DROP TRIGGER working_key_uses_blob;
CREATE TRIGGER working_key_uses_blob AFTER INSERT ON working_key
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
  AND (new.blob_id IS NOT NULL)
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.blob_id, TRUE);
END;

DROP TRIGGER ingestion_unlearned;
CREATE TRIGGER ingestion_unlearned AFTER DELETE ON ingestion
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM pass
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
  DELETE FROM proposal
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
END;
