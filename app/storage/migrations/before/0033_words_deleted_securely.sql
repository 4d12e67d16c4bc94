-- The state of the index of words, in one row.
CREATE TABLE words_index (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- Whether its blocks may hold words that were deleted without the setting below: 2: yes; 1: they are being written anew;
  -- 0: no.
  old_blocks INTEGER NOT NULL CHECK (old_blocks IN (0, 1, 2))
) STRICT;

-- An empty index has two rows: its averages (1) and the structure of its b-trees (10).
INSERT INTO words_index (one, old_blocks) SELECT 1, 2 * EXISTS (SELECT 1 FROM memory_words_data WHERE id > 10);

-- FTS5 only marks the words of a deleted memory as deleted, until it merges the b-tree that holds them. With this setting it
-- takes them out at once (https://www.sqlite.org/fts5.html#the_secure_delete_configuration_option). SQLite has known it since
-- 3.42, as it has the modifier subsec; an older one would refuse the migration.
INSERT INTO memory_words (memory_words, rank) SELECT 'secure-delete', 1 WHERE strftime('%f', 0, 'subsec') IS NOT NULL;
