-- The words of memories, for the lexical channel of a recall: an FTS5 index over long_term_memory, kept by triggers.

-- What FTS5 would not split as it should, made by app/analysis.py; NULL: not made yet.
ALTER TABLE long_term_memory ADD COLUMN segments TEXT;

-- Nothing but ASCII needs none.
UPDATE long_term_memory SET segments = '' WHERE length(content) = length(CAST(content AS BLOB));

CREATE INDEX long_term_memory_unsegmented ON long_term_memory (id) WHERE segments IS NULL;

-- When it happened, as far as is known: the order of a session, in which memories explain each other.
ALTER TABLE long_term_memory ADD COLUMN happened_at INTEGER AS (coalesce(occurred_at, created_at)) VIRTUAL;

CREATE INDEX long_term_memory_session ON long_term_memory (tenant_id, agent_id, session_id, happened_at)
WHERE session_id IS NOT NULL;
CREATE INDEX long_term_memory_happened ON long_term_memory (tenant_id, agent_id, happened_at);

-- The numbers by which the index knows memories, in the order in which they came.
CREATE TABLE memory_number (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- Of the content, in UTF-8.
  bytes INTEGER NOT NULL
) STRICT;

INSERT INTO memory_number (id, bytes)
SELECT id, length(CAST(content AS BLOB)) FROM long_term_memory ORDER BY created_at, id;

-- A scope is one word that holds no upper case, no punctuation and, for its last digit, no ending: FTS5 takes it as it
-- is, and no two scopes have the same.
CREATE VIEW memory_words_source AS
SELECT memory_number.number,
  lower(hex(memory.tenant_id)) || 'g' || lower(hex(memory.agent_id)) || '0' AS scope,
  memory.content, memory.segments
FROM memory_number JOIN long_term_memory AS memory ON memory.id = memory_number.id;

CREATE VIRTUAL TABLE memory_words USING fts5 (
  scope, content, segments,
  content = 'memory_words_source', content_rowid = 'number',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO memory_words (memory_words, rank) VALUES ('rank', 'bm25(0, 1, 1)');

INSERT INTO memory_words (rowid, scope, content, segments)
SELECT number, scope, content, segments FROM memory_words_source;

CREATE TRIGGER long_term_memory_worded AFTER INSERT ON long_term_memory
BEGIN
  INSERT INTO memory_number (id, bytes) VALUES (new.id, length(CAST(new.content AS BLOB)));
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0', new.content, new.segments
  FROM memory_number WHERE id = new.id;
END;

CREATE TRIGGER long_term_memory_reworded AFTER UPDATE OF tenant_id, agent_id, content, segments ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0',
    old.content, old.segments
  FROM memory_number WHERE id = old.id;
  UPDATE memory_number SET bytes = length(CAST(new.content AS BLOB)) WHERE id = new.id;
  INSERT INTO memory_words (rowid, scope, content, segments)
  SELECT number, lower(hex(new.tenant_id)) || 'g' || lower(hex(new.agent_id)) || '0', new.content, new.segments
  FROM memory_number WHERE id = new.id;
END;

CREATE TRIGGER long_term_memory_unworded AFTER DELETE ON long_term_memory
BEGIN
  INSERT INTO memory_words (memory_words, rowid, scope, content, segments)
  SELECT 'delete', number, lower(hex(old.tenant_id)) || 'g' || lower(hex(old.agent_id)) || '0',
    old.content, old.segments
  FROM memory_number WHERE id = old.id;
  DELETE FROM memory_number WHERE id = old.id;
END;
