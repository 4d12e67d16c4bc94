-- A memory that states something explicitly waits for a reader once its claims are there (claim_placed would call it
-- read). Should a run stop before them, nobody has read it, and they are added after the next start.
CREATE TRIGGER claim_waits BEFORE INSERT ON claim
WHEN new.key NOT GLOB '~*'
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id AND statements_read IS NULL;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0044_claims_wait.sql', '0037_compatibility.sql');
