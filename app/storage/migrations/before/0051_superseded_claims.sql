-- Of a memory that many were merged into, hundreds of claims hold: those that do not are found without them.
CREATE INDEX claim_superseded_of ON claim (tenant_id, agent_id, memory_id) WHERE superseded_at IS NOT NULL;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0051_superseded_claims.sql', '0037_compatibility.sql');
