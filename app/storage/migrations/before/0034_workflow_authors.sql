-- Whose outcomes a workflow has counted, so that one credential's weight has a bound and can be taken back, and the texts
-- that were replaced (docs/decisions/0045-outcomes-have-authors.md). What was counted before has no author: it stays in
-- workflow.alpha and workflow.beta, as what an operator without a credential counts does.
ALTER TABLE workflow ADD COLUMN version INTEGER CHECK (version > 0);
-- Of the text, as ``version`` is. NULL: it was put before texts had authors.
ALTER TABLE workflow ADD COLUMN written_by TEXT;
ALTER TABLE workflow ADD COLUMN written_through TEXT;
ALTER TABLE workflow ADD COLUMN written_at INTEGER;

CREATE TABLE workflow_version (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  written_by TEXT,
  written_through TEXT,
  written_at INTEGER NOT NULL,
  spec TEXT NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 100000),
  PRIMARY KEY (tenant_id, workflow_id, version)
) STRICT, WITHOUT ROWID;

-- The sums of the scores that one credential has reported, and of what they lack of 1, after the fading of discounts.
CREATE TABLE workflow_tally (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  written_by TEXT NOT NULL,
  -- What the credential was good for: one agent, all agents, or all agents as an administrator.
  author TEXT NOT NULL CHECK (author IN ('agent', 'tenant', 'admin')),
  -- The only agent that it was good for, or NULL.
  agent_id TEXT,
  successes REAL NOT NULL CHECK (successes >= 0),
  failures REAL NOT NULL CHECK (failures >= 0),
  counted_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, workflow_id, written_by)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_tally_newest ON workflow_tally (tenant_id, workflow_id, counted_at);
CREATE INDEX workflow_tally_of_agent ON workflow_tally (tenant_id, agent_id, workflow_id);
-- By which an erasure of an agent, or of a tenant, finds them.
CREATE INDEX workflow_tally_of_scope ON workflow_tally (tenant_id, coalesce(agent_id, ''));
CREATE INDEX workflow_tally_of_writer ON workflow_tally (tenant_id, written_by);

-- NULL: the outcome was reported before outcomes had authors, or without a credential.
ALTER TABLE workflow_outcome ADD COLUMN written_by TEXT;
ALTER TABLE workflow_outcome ADD COLUMN written_through TEXT;
-- Of the run.
ALTER TABLE workflow_outcome ADD COLUMN agent_id TEXT;
CREATE INDEX workflow_outcome_of_scope ON workflow_outcome (tenant_id, coalesce(agent_id, ''));
CREATE INDEX workflow_outcome_newest ON workflow_outcome (tenant_id, created_at);
CREATE INDEX workflow_outcome_of_run ON workflow_outcome (tenant_id, run_id, created_at);
CREATE INDEX workflow_outcome_of_agent ON workflow_outcome (tenant_id, agent_id, created_at);
CREATE INDEX workflow_outcome_of_writer ON workflow_outcome (tenant_id, written_by, created_at);

DROP TRIGGER workflow_scored;
DROP VIEW workflow_scoring;
-- What an outcome does. ``only_agent`` is the only agent that its author's credential is good for, or NULL.
CREATE VIEW workflow_scoring AS
SELECT NULL AS tenant_id, NULL AS workflow_id, NULL AS run_id, NULL AS score, NULL AS agent_id, NULL AS written_by,
  NULL AS written_through, NULL AS author, NULL AS only_agent;

CREATE TRIGGER workflow_scored INSTEAD OF INSERT ON workflow_scoring
WHEN NOT EXISTS (
  SELECT 1 FROM workflow_outcome AS counted
  WHERE counted.tenant_id = new.tenant_id AND counted.workflow_id = new.workflow_id AND counted.run_id = new.run_id
)
BEGIN
  -- What has no author fades in all workflows of the task by their own discounts, and counts the score where this one
  -- has none either. Nine decimals hold the sums of scores of six exactly, in whatever order they come, up to four
  -- million of them.
  UPDATE workflow SET
    alpha = round(1 + (alpha - 1) * discount + (id = new.workflow_id AND new.written_by IS NULL) * new.score, 9),
    beta = round(1 + (beta - 1) * discount + (id = new.workflow_id AND new.written_by IS NULL) * (1 - new.score), 9)
  WHERE tenant_id = new.tenant_id AND (discount < 1 OR id = new.workflow_id)
    -- Their ids are in the index workflow_of_task: no other workflow of the tenant is read.
    AND id IN (
      SELECT rival.id FROM workflow AS run CROSS JOIN workflow AS rival INDEXED BY workflow_of_task
      WHERE run.tenant_id = new.tenant_id AND run.id = new.workflow_id AND rival.tenant_id = new.tenant_id
        AND rival.agent_type = run.agent_type AND rival.task_type = run.task_type
    );
  -- An administrator's outcome, or an operator's, fades what everybody has counted. Another one fades only what the same
  -- credential has counted, or what credentials for the same agent have: nobody makes others forget.
  UPDATE workflow_tally SET (successes, failures) = (
    SELECT round(successes * faded.discount, 9), round(failures * faded.discount, 9)
    FROM workflow AS faded WHERE faded.tenant_id = workflow_tally.tenant_id AND faded.id = workflow_tally.workflow_id
  )
  WHERE tenant_id = new.tenant_id
    AND (
      coalesce(new.author, 'admin') = 'admin' OR written_by = new.written_by
      OR (author = 'agent' AND agent_id = new.only_agent)
    )
    AND workflow_id IN (
      SELECT rival.id FROM workflow AS run CROSS JOIN workflow AS rival INDEXED BY workflow_of_task
      WHERE run.tenant_id = new.tenant_id AND run.id = new.workflow_id AND rival.tenant_id = new.tenant_id
        AND rival.agent_type = run.agent_type AND rival.task_type = run.task_type AND rival.discount < 1
    );
  INSERT INTO workflow_tally (
    tenant_id, workflow_id, written_by, author, agent_id, successes, failures, counted_at
  )
  SELECT new.tenant_id, new.workflow_id, new.written_by, new.author, new.only_agent, new.score, round(1 - new.score, 9),
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  WHERE new.written_by IS NOT NULL
  ON CONFLICT (tenant_id, workflow_id, written_by) DO UPDATE SET
    successes = round(workflow_tally.successes + excluded.successes, 9),
    failures = round(workflow_tally.failures + excluded.failures, 9),
    author = excluded.author, agent_id = excluded.agent_id, counted_at = excluded.counted_at;
  INSERT INTO workflow_outcome (
    tenant_id, workflow_id, run_id, score, created_at, written_by, written_through, agent_id
  )
  VALUES (
    new.tenant_id, new.workflow_id, new.run_id, new.score,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), new.written_by, new.written_through, new.agent_id
  );
END;
