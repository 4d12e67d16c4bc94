-- A change of a memory stores it again. The run of that store is refused where the memory has another moment meanwhile:
-- it would make a second memory (app/storage/redating.py).
CREATE VIEW memory_expected AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS content_hash;

CREATE TRIGGER memory_expected_checked INSTEAD OF INSERT ON memory_expected
BEGIN
  SELECT RAISE(ABORT, 'moved')
  WHERE NOT EXISTS (
    SELECT 1 FROM long_term_memory AS expected
    WHERE expected.tenant_id = new.tenant_id AND expected.agent_id = new.agent_id AND expected.id = new.id
      AND expected.content_hash = new.content_hash
  );
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0056_changed_memories.sql', '0037_compatibility.sql');
