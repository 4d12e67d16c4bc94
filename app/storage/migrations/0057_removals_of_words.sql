-- What a process has read of the index of words holds while nothing is removed or reworded, which is counted from now on
-- (app/storage/postings.py). The triggers are those of tables that every version writes alike, so that an older replica
-- counts too.
ALTER TABLE words_index ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER words_index_made_anew AFTER UPDATE OF indexed_to ON words_index
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

CREATE TRIGGER memory_number_removed AFTER DELETE ON memory_number
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

CREATE TRIGGER memory_number_reworded AFTER UPDATE ON memory_number
BEGIN
  UPDATE words_index SET removals = removals + 1;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0057_removals_of_words.sql', '0037_compatibility.sql');
