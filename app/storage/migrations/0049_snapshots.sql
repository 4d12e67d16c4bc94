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

INSERT INTO schema_compatibility (name, oldest) VALUES ('0049_snapshots.sql', '0037_compatibility.sql');
