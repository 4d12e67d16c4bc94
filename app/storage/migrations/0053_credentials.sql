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

INSERT INTO schema_compatibility (name, oldest) VALUES ('0053_credentials.sql', '0037_compatibility.sql');
