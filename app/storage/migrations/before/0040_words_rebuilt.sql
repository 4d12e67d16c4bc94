-- Up to which number memories are in the index of words: -1: none, because it is damaged; 9007199254740991: all. What triggers
-- keep is only what was indexed: a write depends on no index that is damaged, and the memories behind the number are indexed
-- again step by step (app/storage/system/words_index.py).
ALTER TABLE words_index ADD COLUMN indexed_to INTEGER NOT NULL DEFAULT 9007199254740991;

DROP TRIGGER long_term_memory_worded;
CREATE TRIGGER long_term_memory_worded AFTER INSERT ON long_term_memory
BEGIN
  INSERT INTO memory_number (id, bytes) VALUES (new.id, length(CAST(new.content AS BLOB)));
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id AND number <= (SELECT indexed_to FROM words_index);
END;

DROP TRIGGER long_term_memory_reworded;
CREATE TRIGGER long_term_memory_reworded AFTER UPDATE OF tenant_id, agent_id, content, segments ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id AND number <= (SELECT indexed_to FROM words_index);
  UPDATE memory_number SET bytes = length(CAST(new.content AS BLOB)) WHERE id = new.id;
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id AND number <= (SELECT indexed_to FROM words_index);
END;

DROP TRIGGER long_term_memory_unworded;
CREATE TRIGGER long_term_memory_unworded AFTER DELETE ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id AND number <= (SELECT indexed_to FROM words_index);
  DELETE FROM memory_number WHERE id = old.id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0040_words_rebuilt.sql', '0037_compatibility.sql');
