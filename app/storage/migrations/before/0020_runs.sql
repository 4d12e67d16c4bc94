-- Runs: one execution of an agent each. What happens in a run are its episodes (docs/tiers.md).
CREATE TABLE agent_runs (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
  -- {"input": what the run was started with, "episode_ids": [the episodes that it was given]}
  input TEXT NOT NULL CHECK (length(CAST(input AS BLOB)) <= 110000),
  output TEXT CHECK (length(CAST(output AS BLOB)) <= 100000),
  error TEXT CHECK (length(CAST(error AS BLOB)) <= 4096),
  -- The workflow that was selected for it last.
  workflow_id TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER CHECK ((ended_at IS NULL) = (status = 'running')),
  -- The blobs that the input and the output are, where they are too large: the columns have pointers then (0025_blobs.sql).
  input_blob TEXT,
  output_blob TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_runs_newest ON agent_runs (tenant_id, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_agent ON agent_runs (tenant_id, agent_id, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_type ON agent_runs (tenant_id, agent_type, started_at DESC, id DESC);
