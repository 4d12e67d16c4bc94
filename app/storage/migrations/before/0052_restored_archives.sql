-- What was restored from the archive stays out of it for a while (docs/decisions/0072-restored-archives.md): the row of the object
-- stays until then, and its blob goes at once. It is no object of the archive any more.
ALTER TABLE archive ADD COLUMN restored_until INTEGER;

-- The ends of the ids of its items: of all objects of a time, those of other agents too, they leave the one that has an item.
-- NULL: code that wrote none has archived it, and its range of ids has to do.
ALTER TABLE archive ADD COLUMN id_ends TEXT;

CREATE INDEX archive_restored ON archive (tenant_id, agent_id, kind, last_at) WHERE restored_until IS NOT NULL;

CREATE TRIGGER restored_archive_leaves_blob AFTER UPDATE OF restored_until ON archive
WHEN old.restored_until IS NULL AND new.restored_until IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried
)
BEGIN
  UPDATE blob SET state = 'deleting' WHERE tenant_id = old.tenant_id AND id = old.id AND agent_id = old.agent_id;
END;

-- Every run of a restore begins with a row of it: nothing comes back of an object that was erased, or restored, since it was read.
CREATE VIEW archive_restore AS SELECT NULL AS tenant_id, NULL AS id;

CREATE TRIGGER archive_restore_checked INSTEAD OF INSERT ON archive_restore
WHEN NOT EXISTS (
  SELECT 1 FROM archive WHERE archive.tenant_id = new.tenant_id AND archive.id = new.id AND archive.restored_until IS NULL
)
BEGIN
  SELECT RAISE(ABORT, 'erasing');
END;

-- The same for snapshots: nothing comes back to a tenant of which something was erased since the restore has begun.
CREATE VIEW snapshot_restore AS SELECT NULL AS tenant_id, NULL AS since;

CREATE TRIGGER snapshot_restore_checked INSTEAD OF INSERT ON snapshot_restore
WHEN EXISTS (SELECT 1 FROM erasure WHERE erasure.tenant_id = new.tenant_id AND erasure.accepted_at >= new.since)
BEGIN
  SELECT RAISE(ABORT, 'erasing');
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0052_restored_archives.sql', '0037_compatibility.sql');
