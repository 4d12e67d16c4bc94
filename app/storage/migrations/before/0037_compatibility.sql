-- Which code may run beside a migration: code that knows the migration ``oldest``. Each migration from this one on writes
-- its row. Running code reads the rows of the migrations that it does not know, and stops where one has none.
CREATE TABLE schema_compatibility (
  name TEXT PRIMARY KEY,
  oldest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0037_compatibility.sql', '0036_quota_of_all_tiers.sql');
