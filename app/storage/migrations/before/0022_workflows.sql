-- Workflows: ways to do a task, which compete for it (docs/tiers.md). How well one did is a Beta posterior of its rate of
-- success, from which selections draw.
CREATE TABLE workflow (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  task_type TEXT NOT NULL,
  alpha REAL NOT NULL DEFAULT 1 CHECK (alpha >= 1),
  beta REAL NOT NULL DEFAULT 1 CHECK (beta >= 1),
  discount REAL NOT NULL CHECK (discount > 0 AND discount <= 1),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- Last, so that whatever counts outcomes reads past none of it.
  spec TEXT NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 100000),
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_of_task ON workflow (tenant_id, agent_type, task_type, id);

-- The outcome of a run for a workflow: its first one, which is the one that counts. It outlives the workflow, so that an
-- answer that was lost is not made up for by another count.
CREATE TABLE workflow_outcome (
  tenant_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  run_id TEXT NOT NULL CHECK (length(run_id) = 26),
  score REAL NOT NULL CHECK (score >= 0 AND score <= 1),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, workflow_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_outcome_age ON workflow_outcome (created_at);

-- What an outcome does. It is no trigger of the table, since an import brings outcomes that its workflows have counted.
CREATE VIEW workflow_scoring AS SELECT NULL AS tenant_id, NULL AS workflow_id, NULL AS run_id, NULL AS score;

CREATE TRIGGER workflow_scored INSTEAD OF INSERT ON workflow_scoring
WHEN NOT EXISTS (
  SELECT 1 FROM workflow_outcome AS counted
  WHERE counted.tenant_id = new.tenant_id AND counted.workflow_id = new.workflow_id AND counted.run_id = new.run_id
)
BEGIN
  -- All workflows of the task fade by their own discounts, and the one that was run counts the score. Nine decimals hold
  -- the sums of scores of six exactly, in whatever order they come, up to four million of them.
  UPDATE workflow SET
    alpha = round(1 + (alpha - 1) * discount + (id = new.workflow_id) * new.score, 9),
    beta = round(1 + (beta - 1) * discount + (id = new.workflow_id) * (1 - new.score), 9)
  WHERE tenant_id = new.tenant_id AND (discount < 1 OR id = new.workflow_id)
    -- Their ids are in the index workflow_of_task: no other workflow of the tenant is read.
    AND id IN (
      SELECT rival.id FROM workflow AS run CROSS JOIN workflow AS rival INDEXED BY workflow_of_task
      WHERE run.tenant_id = new.tenant_id AND run.id = new.workflow_id AND rival.tenant_id = new.tenant_id
        AND rival.agent_type = run.agent_type AND rival.task_type = run.task_type
    );
  INSERT INTO workflow_outcome (tenant_id, workflow_id, run_id, score, created_at)
  VALUES (
    new.tenant_id, new.workflow_id, new.run_id, new.score,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  );
END;
