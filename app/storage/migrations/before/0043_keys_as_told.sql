-- Facts have the keys that their tellers gave them (app/domain/explicit.py): subject and predicate, and the object where
-- several hold at a time. Those of older versions, whose keys were made by rules, get such keys after the start.
INSERT INTO schema_compatibility (name, oldest) VALUES ('0043_keys_as_told.sql', '0037_compatibility.sql');

UPDATE long_term_memory SET statements_read = NULL
WHERE json_type(metadata, '$.fact.subject') IS 'text' AND json_type(metadata, '$.fact.predicate') IS 'text'
  AND json_type(metadata, '$.fact.object') IS 'text';
