-- What a recall needs to know so that it can read little (docs/decisions/0038-what-a-recall-reads.md).

-- Whether a vector was queued by an import or by a job, and not by a store. A recall reads far fewer of these.
ALTER TABLE outbox ADD COLUMN in_bulk INTEGER NOT NULL DEFAULT 0 CHECK (in_bulk IN (0, 1));
CREATE INDEX outbox_newest ON outbox (tenant_id, agent_id, index_name, in_bulk, revision) WHERE operation = 'upsert';

-- Each 16th memory is in the index of words by another word of its scope too: of how many of these hold a word follows about
-- how many of all do. Like the first, it ends with a digit, and no scope has the word of another.
INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
SELECT 'delete', number, scope, content, segments FROM memory_words_source WHERE number % 16 = 0;

DROP VIEW memory_words_source;
CREATE VIEW memory_words_source AS
SELECT memory_number.number,
  lower(hex(memory.tenant_id)) || 'g' || lower(hex(memory.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(memory.tenant_id)) || 'g' || lower(hex(memory.agent_id)) || '1') AS scope,
  memory.content, memory.segments
FROM memory_number JOIN long_term_memory AS memory ON memory.id = memory_number.id;

INSERT INTO memory_words (rowid, scope, content, segments)
SELECT number, scope, content, segments FROM memory_words_source WHERE number % 16 = 0;

DROP TRIGGER long_term_memory_worded;
CREATE TRIGGER long_term_memory_worded AFTER INSERT ON long_term_memory
BEGIN
  INSERT INTO memory_number (id, bytes) VALUES (new.id, length(CAST(new.content AS BLOB)));
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id;
END;

DROP TRIGGER long_term_memory_reworded;
CREATE TRIGGER long_term_memory_reworded AFTER UPDATE OF tenant_id, agent_id, content, segments ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id;
  UPDATE memory_number SET bytes = length(CAST(new.content AS BLOB)) WHERE id = new.id;
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '1'), new.content, new.segments
  FROM memory_number WHERE id = new.id;
END;

DROP TRIGGER long_term_memory_unworded;
CREATE TRIGGER long_term_memory_unworded AFTER DELETE ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0'
    || iif(number % 16, '', ' ' || lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '1'), old.content, old.segments
  FROM memory_number WHERE id = old.id;
  DELETE FROM memory_number WHERE id = old.id;
END;
