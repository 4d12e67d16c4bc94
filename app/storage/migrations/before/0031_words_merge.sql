-- FTS5 keeps an index in b-trees, one for each few writes, and each query looks into every b-tree. It merges four of a size by
-- itself. With this setting the command 'merge' (app/storage/system/words_index.py) merges two of a size.
INSERT INTO memory_words (memory_words, rank) VALUES ('usermerge', 2);
