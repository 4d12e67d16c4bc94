-- The facts of a predicate are found by the relation of their key, and by the predicate that they were told with.
CREATE INDEX long_term_memory_told ON long_term_memory (tenant_id, agent_id, (metadata ->> '$.fact.predicate'))
WHERE metadata ->> '$.fact.predicate' IS NOT NULL;
CREATE INDEX claim_of_relation ON claim (tenant_id, agent_id, (substr(key, instr(key, '/') + 1) || '/'));

-- A memory of any type is found by its type, those of events too, which few memories of an agent may be. The index has the
-- name that it had: code that knows only the index of the other types finds what it asks for.
DROP INDEX long_term_memory_typed;
CREATE INDEX long_term_memory_typed ON long_term_memory (tenant_id, agent_id, type, created_at DESC) WHERE type IS NOT NULL;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0058_typed_and_told.sql', '0037_compatibility.sql');
