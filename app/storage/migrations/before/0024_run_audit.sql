-- What runs have done, and what recalls have returned: the trail of a run, and the audit beside the table audit
-- (docs/tiers.md). No row has the text of a query, or of a memory.

-- The tool calls of a run, in the order in which they arrived.
CREATE TABLE tool_call_log (
  tenant_id TEXT NOT NULL,
  run_id TEXT NOT NULL CHECK (length(run_id) = 26),
  number INTEGER NOT NULL CHECK (number > 0),
  -- The caller's own: what is sent again is known by it.
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  tool TEXT NOT NULL CHECK (length(tool) BETWEEN 1 AND 64),
  -- Canonical JSON, as its caller has sent it; NULL: only the hash was sent.
  input TEXT CHECK (input IS NULL OR json_valid(input)),
  input_hash TEXT NOT NULL CHECK (length(input_hash) = 64),
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'error')),
  error TEXT,
  output TEXT CHECK (output IS NULL OR json_valid(output)),
  -- A number of JSON, as text: a database that reads the number may round it.
  ms TEXT NOT NULL CHECK (json_valid(ms)),
  tokens INTEGER CHECK (tokens IS NULL OR tokens >= 0),
  -- When the caller says that it was.
  called_at INTEGER,
  -- Never earlier than that of the call before.
  recorded_at INTEGER NOT NULL,
  written_by TEXT,
  -- Whether it arrived after the end of its run: the audit has it, and the replay, which does not change then, has not.
  after_end INTEGER NOT NULL DEFAULT 0 CHECK (after_end IN (0, 1)),
  PRIMARY KEY (tenant_id, run_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tool_call_log_known ON tool_call_log (tenant_id, run_id, id);
CREATE INDEX tool_call_log_of_run ON tool_call_log (tenant_id, run_id, recorded_at);
CREATE INDEX tool_call_log_newest ON tool_call_log (tenant_id, recorded_at);
CREATE INDEX tool_call_log_of_agent ON tool_call_log (tenant_id, agent_id, recorded_at);
CREATE INDEX tool_call_log_of_writer ON tool_call_log (tenant_id, written_by, recorded_at);

CREATE TRIGGER tool_call_log_bounded BEFORE INSERT ON tool_call_log WHEN new.number > 10000
BEGIN
  SELECT RAISE(ABORT, 'tool_calls');
END;

-- A recall, or how many recalls of a tenant left no row because the process had no room for more (agent_id is '' then).
CREATE TABLE recall_log (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  agent_id TEXT NOT NULL,
  -- The run that the caller has named. It is not checked: a recall makes no further call.
  run_id TEXT CHECK (run_id IS NULL OR length(run_id) = 26),
  event TEXT NOT NULL CHECK (event IN ('recall', 'recalls_dropped')),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  recorded_at INTEGER NOT NULL,
  written_by TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recall_log_newest ON recall_log (tenant_id, recorded_at);
CREATE INDEX recall_log_of_run ON recall_log (tenant_id, run_id, recorded_at) WHERE run_id IS NOT NULL;
CREATE INDEX recall_log_of_agent ON recall_log (tenant_id, agent_id, recorded_at);
CREATE INDEX recall_log_of_writer ON recall_log (tenant_id, written_by, recorded_at);
CREATE INDEX recall_log_rare ON recall_log (tenant_id, event, recorded_at) WHERE event <> 'recall';

-- The audit is looked through by any of these. Most of its rows tell of stores, and no store pays for the last index.
CREATE INDEX audit_of_agent ON audit (tenant_id, agent_id, created_at);
CREATE INDEX audit_of_memory ON audit (tenant_id, memory_id, created_at);
CREATE INDEX audit_of_writer ON audit (tenant_id, written_by, created_at);
CREATE INDEX audit_rare ON audit (tenant_id, event, created_at) WHERE event <> 'stored';
