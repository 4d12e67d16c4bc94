-- Whether a comparison repairs what it finds, in all of its parts so far: one that repairs does not go on with another that
-- only looked, since what that one had found would stay as it is.
ALTER TABLE reconcile ADD COLUMN repairs INTEGER NOT NULL DEFAULT FALSE CHECK (repairs IN (FALSE, TRUE));

INSERT INTO schema_compatibility (name, oldest) VALUES ('0041_reconcile_repairs.sql', '0037_compatibility.sql');
