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
