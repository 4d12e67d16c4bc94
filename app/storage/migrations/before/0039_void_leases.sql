-- A lease that ends further ahead than any that begins now is void (app/storage/lease_rule.py): the database's clock was ahead
-- when it was taken. The indexer's lasts for at most 45 s, and the fence of a move for 5 s; a second is for a clock that is
-- corrected.

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
      AND lease.expires_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + 46000
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

DROP TRIGGER tenant_presence_checked;
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
      AND fenced_until <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + 6000
  );
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0039_void_leases.sql', '0037_compatibility.sql');
