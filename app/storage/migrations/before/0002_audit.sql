-- What was done, without its content. Kept when the memory is gone.

CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('stored')),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  created_at INTEGER NOT NULL
) STRICT;
