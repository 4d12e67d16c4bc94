-- What a run has taught is found by the run that its metadata names (docs/tiers.md). An index, and no table that triggers
-- keep: a memory that names none costs one look at its metadata.
CREATE INDEX long_term_memory_taught
ON long_term_memory (tenant_id, (metadata ->> '$.fact.learned_from_run_id'), id)
WHERE metadata ->> '$.fact.learned_from_run_id' IS NOT NULL;
