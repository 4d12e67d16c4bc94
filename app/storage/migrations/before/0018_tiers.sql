-- The gate of every write to a tier of memory other than long-term memory (docs/tiers.md). The first statement of such a run
-- inserts into tier_write; the trigger lets it pass, or stops the run with RAISE(ABORT, code), which undoes all of it. Facts
-- are long-term memories and have the gate of these (0011_writers.sql).
CREATE VIEW tier_write AS
SELECT
  -- Whose data is written; agent_id is NULL where it belongs to all agents of the tenant.
  NULL AS tenant_id, NULL AS agent_id,
  -- The credential that writes, and when it was issued; NULL: an operator.
  NULL AS written_by, NULL AS issued_at;

CREATE TRIGGER tier_write_checked INSTEAD OF INSERT ON tier_write
BEGIN
  SELECT CASE
    -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
    WHEN EXISTS (
      SELECT 1 FROM revocation
      WHERE revocation.tenant_id = new.tenant_id AND (
        revocation.credential_id = new.written_by
        OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
      )
    ) THEN RAISE(ABORT, 'revoked')
    WHEN EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
        AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
  END;
END;
