-- An administrator may switch off an agent's long-term memory; what it holds stays.

ALTER TABLE agent ADD COLUMN long_term_enabled INTEGER NOT NULL DEFAULT 1 CHECK (long_term_enabled IN (0, 1));
