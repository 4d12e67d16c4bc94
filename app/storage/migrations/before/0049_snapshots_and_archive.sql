-- Snapshots: exports in the object store, under the keys s/<tenant_id>/<id>/... (docs/decisions/0068-snapshots.md). The row
-- comes before the objects and goes after them: so an erasure knows of all that may hold something of its scope.
CREATE TABLE snapshot (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  -- 'writing' until its manifest is there, 'deleting' from before its objects go.
  state TEXT NOT NULL CHECK (state IN ('writing', 'stored', 'deleting')),
  -- Of its parts that are written, or just being written.
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  -- Whose rows it has, as a list in JSON; NULL: it may have those of any agent.
  agents TEXT CHECK (agents IS NULL OR json_valid(agents)),
  created_at INTEGER NOT NULL,
  -- When the last object was begun: none is on its way any more a while after.
  renewed_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

-- Code that knows no snapshots writes no receipt for a scope of which one is there: the next version goes on with the erasure.
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

-- What was moved out of the database because it is old (docs/decisions/0069-archive.md): the object is the agent's blob of the
-- same id, an export of these items alone. The row is written in the run that deletes them.
CREATE TABLE archive (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memories', 'episodes', 'runs')),
  items INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  -- Of the items: their moments, and their ids, by which one is found.
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  first_id TEXT NOT NULL,
  last_id TEXT NOT NULL,
  archived_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX archive_of_agent ON archive (tenant_id, agent_id, kind, last_at);

CREATE TRIGGER archive_leaves_blob AFTER DELETE ON archive
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE blob SET state = 'deleting' WHERE tenant_id = old.tenant_id AND id = old.id AND agent_id = old.agent_id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0049_snapshots_and_archive.sql', '0037_compatibility.sql');
