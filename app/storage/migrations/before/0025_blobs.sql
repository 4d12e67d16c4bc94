-- Blobs: content and values that are large or binary. A row says what an object is; the object store has its bytes under the
-- key t/<tenant_id>/<id> (docs/tiers.md).
CREATE TABLE blob (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  -- '' where it belongs to all agents of the tenant.
  agent_id TEXT NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  size INTEGER NOT NULL CHECK (size >= 0),
  media_type TEXT NOT NULL CHECK (length(media_type) BETWEEN 3 AND 128),
  -- The row comes before its object and goes after it, so that no object is without a row: 'writing' until the object is
  -- there, 'deleting' from before it goes. Only what is 'stored' is shown to anyone.
  state TEXT NOT NULL CHECK (state IN ('writing', 'stored', 'deleting')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_newest ON blob (tenant_id, agent_id, created_at DESC, id DESC);
CREATE INDEX blob_unfinished ON blob (created_at, tenant_id, id) WHERE state <> 'stored';

-- A JSON value that is too large for its row is a blob of the row's agent: the row has a pointer in place of the value, and
-- names the blob. What happens to the row happens to the blob in the same statement, whoever makes it: a row cannot point to
-- what was given up, and what no row points to any more goes (`prune`).
CREATE VIEW blob_use AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id,
  -- Whether a row points to it from now on, or no longer.
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

CREATE TRIGGER working_key_uses_blob AFTER INSERT ON working_key WHEN new.blob_id IS NOT NULL
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.blob_id, TRUE);
END;

CREATE TRIGGER working_key_changes_blob AFTER UPDATE OF blob_id ON working_key WHEN old.blob_id IS NOT new.blob_id
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, new.blob_id, TRUE WHERE new.blob_id IS NOT NULL;
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, old.blob_id, FALSE WHERE old.blob_id IS NOT NULL;
END;

CREATE TRIGGER working_key_leaves_blob AFTER DELETE ON working_key WHEN old.blob_id IS NOT NULL
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (old.tenant_id, old.agent_id, old.blob_id, FALSE);
END;

CREATE TRIGGER agent_runs_uses_blob AFTER INSERT ON agent_runs
WHEN new.input_blob IS NOT NULL OR new.output_blob IS NOT NULL
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT new.tenant_id, new.agent_id, each.value, TRUE FROM json_each(json_array(new.input_blob, new.output_blob)) AS each
  WHERE each.value IS NOT NULL;
END;

CREATE TRIGGER agent_runs_changes_blob AFTER UPDATE OF output_blob ON agent_runs
WHEN old.output_blob IS NULL AND new.output_blob IS NOT NULL
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used) VALUES (new.tenant_id, new.agent_id, new.output_blob, TRUE);
END;

CREATE TRIGGER agent_runs_leaves_blob AFTER DELETE ON agent_runs
WHEN old.input_blob IS NOT NULL OR old.output_blob IS NOT NULL
BEGIN
  INSERT INTO blob_use (tenant_id, agent_id, id, used)
  SELECT old.tenant_id, old.agent_id, each.value, FALSE
  FROM json_each(json_array(old.input_blob, old.output_blob)) AS each WHERE each.value IS NOT NULL;
END;
