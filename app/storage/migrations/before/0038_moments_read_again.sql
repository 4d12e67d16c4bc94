-- Days of the week and times of day hold side by side now, unless one tells a change (app/statements/circumstances.py). What
-- older code took of them for corrections holds again, and is read again in the background after the start.
CREATE TABLE read_again (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

INSERT INTO read_again (id)
SELECT DISTINCT memory_id FROM claim
WHERE (key GLOB '*/day' OR key GLOB '*/time') AND (value GLOB '*weekday*' OR value GLOB '*[0-9]:[0-9]*');

DELETE FROM claim WHERE memory_id IN (SELECT id FROM read_again);

UPDATE long_term_memory SET statements_read = NULL, superseded_at = NULL WHERE id IN (SELECT id FROM read_again);

DROP TABLE read_again;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0038_moments_read_again.sql', '0037_compatibility.sql');
