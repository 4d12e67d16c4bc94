-- Delegated context: a run that another one has begun for a part of its task (docs/tiers.md). It has working memory of its
-- own, which ends with it, and what its parent has handed over: `handed_over` in `input`, beside the input itself.
ALTER TABLE agent_runs ADD COLUMN parent_run_id TEXT;
-- Whether its parent was deleted: it goes too (app/storage/system/episodes.py, app/storage/erasures.py).
ALTER TABLE agent_runs ADD COLUMN parent_gone INTEGER CHECK (parent_gone = 1);
CREATE INDEX agent_runs_of_status ON agent_runs (tenant_id, status, started_at DESC, id DESC);
CREATE INDEX agent_runs_of_parent ON agent_runs (tenant_id, parent_run_id, started_at DESC, id DESC)
WHERE parent_run_id IS NOT NULL;
CREATE INDEX agent_runs_without_parent ON agent_runs (tenant_id, id) WHERE parent_gone = 1;

-- It only marks: a trigger does not set itself off, so that the children of children are marked as their own parents go.
CREATE TRIGGER agent_runs_orphaned AFTER DELETE ON agent_runs
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE agent_runs SET parent_gone = 1 WHERE tenant_id = old.tenant_id AND parent_run_id = old.id;
END;

-- What was said in a run that goes with its parent goes with it. Its tool calls stay as long as the audit does.
CREATE TRIGGER agent_runs_gone_with_parent AFTER DELETE ON agent_runs
WHEN old.parent_gone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM memory_episodes WHERE tenant_id = old.tenant_id AND run_id = old.id;
  DELETE FROM working_key WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND instance = old.id;
  DELETE FROM working_log WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND run_id = old.id;
END;

DROP TRIGGER run_write_checked;
DROP VIEW run_write;

-- What must hold of a write to a run, in the run of the database that makes it. The trigger lets it pass, or stops it.
CREATE VIEW run_write AS
SELECT
  -- agent_id is the only agent whose run it may be; NULL: of any.
  NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- Whether it begins the run, how many runs and episodes the tenant may have, and a JSON array of the episodes' ids.
  NULL AS begins, NULL AS most_runs, NULL AS most_episodes, NULL AS episode_ids,
  -- The parent of a run that begins, and the only agent whose run that may be; how many runs are above it, how many may
  -- be, and how many children a run may have.
  NULL AS parent_run_id, NULL AS parent_agent_id, NULL AS depth, NULL AS most_depth, NULL AS most_children;

CREATE TRIGGER run_write_checked INSTEAD OF INSERT ON run_write
BEGIN
  SELECT CASE
    -- A run that is there is begun again: its parent may have ended meanwhile.
    WHEN new.begins AND EXISTS (
      SELECT 1 FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    ) THEN NULL
    WHEN new.begins AND coalesce((
      SELECT held.runs FROM episodic_count AS held WHERE held.tenant_id = new.tenant_id
    ), 0) >= new.most_runs THEN RAISE(ABORT, 'runs_full')
    WHEN new.begins AND new.parent_run_id IS NULL THEN NULL
    WHEN new.begins THEN CASE
      WHEN NOT EXISTS (
        SELECT 1 FROM agent_runs AS parent
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND (new.parent_agent_id IS NULL OR parent.agent_id = new.parent_agent_id)
      ) THEN RAISE(ABORT, 'no_parent')
      WHEN EXISTS (
        SELECT 1 FROM agent_runs AS parent CROSS JOIN erasure
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND erasure.tenant_id = new.tenant_id AND erasure.agent_id = parent.agent_id AND erasure.receipt IS NULL
      ) THEN RAISE(ABORT, 'erasing')
      WHEN EXISTS (
        SELECT 1 FROM agent_runs AS parent
        WHERE parent.tenant_id = new.tenant_id AND parent.id = new.parent_run_id
          AND (parent.status <> 'running' OR parent.parent_gone)
      ) THEN RAISE(ABORT, 'parent_ended')
      WHEN new.depth > new.most_depth THEN RAISE(ABORT, 'too_deep')
      WHEN (
        SELECT count(*) FROM agent_runs AS child
        WHERE child.tenant_id = new.tenant_id AND child.parent_run_id = new.parent_run_id
      ) >= new.most_children THEN RAISE(ABORT, 'children_full')
    END
    WHEN NOT EXISTS (
      SELECT 1 FROM agent_runs AS run
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
        AND (new.agent_id IS NULL OR run.agent_id = new.agent_id)
    ) THEN RAISE(ABORT, 'no_run')
    -- A credential for all agents names none: the gate of all tiers has asked for the tenant alone.
    WHEN EXISTS (
      SELECT 1 FROM agent_runs AS run CROSS JOIN erasure
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
        AND erasure.tenant_id = new.tenant_id AND erasure.agent_id = run.agent_id AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
    WHEN EXISTS (
      SELECT 1 FROM json_each(new.episode_ids) AS given CROSS JOIN memory_episodes AS held
      WHERE held.tenant_id = new.tenant_id AND held.id = given.value AND held.run_id <> new.run_id
    ) THEN RAISE(ABORT, 'taken')
    WHEN NOT EXISTS (
      SELECT 1 FROM json_each(new.episode_ids) AS given
      WHERE NOT EXISTS (
        SELECT 1 FROM memory_episodes AS held WHERE held.tenant_id = new.tenant_id AND held.id = given.value
      )
    ) THEN NULL
    WHEN EXISTS (
      SELECT 1 FROM agent_runs AS run
      WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status <> 'running'
    ) THEN RAISE(ABORT, 'ended')
    WHEN coalesce((SELECT held.episodes FROM episodic_count AS held WHERE held.tenant_id = new.tenant_id), 0) + (
      SELECT count(DISTINCT given.value) FROM json_each(new.episode_ids) AS given
      WHERE NOT EXISTS (
        SELECT 1 FROM memory_episodes AS held WHERE held.tenant_id = new.tenant_id AND held.id = given.value
      )
    ) > new.most_episodes THEN RAISE(ABORT, 'episodes_full')
  END;
END;

DROP TRIGGER run_keep_begun;
DROP TRIGGER run_keep_ended;
DROP VIEW run_keep;

-- As in 0045. A run that was delegated leaves its keys and its state with its end, and its result in its parent's log.
CREATE VIEW run_keep AS
SELECT NULL AS tenant_id, NULL AS run_id, NULL AS ttl_ms, NULL AS now,
  -- Of the keys of an instance, and of a log.
  NULL AS most_bytes, NULL AS most_log_bytes,
  NULL AS most_instances, NULL AS overhead,
  -- Bytes of an output that the parent's log has as a whole.
  NULL AS most_result;

CREATE TRIGGER run_keep_begun INSTEAD OF INSERT ON run_keep
WHEN EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status = 'running' AND run.kept IS NULL
)
BEGIN
  INSERT INTO run_state_put (tenant_id, agent_id, run_id, value, ttl_ms, now, most_bytes, most_instances)
  SELECT run.tenant_id, run.agent_id, run.id, json_object('status', run.status, 'started_at',
      strftime('%Y-%m-%dT%H:%M:%fZ', run.started_at / 1000.0, 'unixepoch')),
    new.ttl_ms, new.now, new.most_bytes, new.most_instances
  FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND NOT EXISTS (
    SELECT 1 FROM working_key AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = run.agent_id AND held.instance = new.run_id
      AND held.key = '/state' AND held.expires_at > new.now
  );
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT run.tenant_id, run.agent_id, run.id, json_array(json_object('entry',
      json_object('event', 'started', 'episodes', json_array_length(run.input, '$.episode_ids')))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id;
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT parent.tenant_id, parent.agent_id, parent.id, json_array(json_object('entry', json_object(
      'event', 'child_started', 'run_id', run.id, 'agent_id', run.agent_id, 'agent_type', run.agent_type))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run CROSS JOIN agent_runs AS parent
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    AND parent.tenant_id = new.tenant_id AND parent.id = run.parent_run_id;
  UPDATE agent_runs SET kept = 1 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;

CREATE TRIGGER run_keep_ended INSTEAD OF INSERT ON run_keep
WHEN EXISTS (
  SELECT 1 FROM agent_runs AS run
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.status <> 'running' AND run.kept IS NOT 2
)
BEGIN
  INSERT INTO run_state_put (tenant_id, agent_id, run_id, value, ttl_ms, now, most_bytes, most_instances)
  SELECT run.tenant_id, run.agent_id, run.id,
    json_set(
      coalesce(held.value, json_object('status', '', 'started_at',
        strftime('%Y-%m-%dT%H:%M:%fZ', run.started_at / 1000.0, 'unixepoch'))),
      '$.status', run.status,
      '$.ended_at', strftime('%Y-%m-%dT%H:%M:%fZ', run.ended_at / 1000.0, 'unixepoch')
    ),
    new.ttl_ms, new.now, new.most_bytes, new.most_instances
  FROM agent_runs AS run LEFT JOIN working_key AS held
    ON held.tenant_id = run.tenant_id AND held.agent_id = run.agent_id AND held.instance = run.id
    AND held.key = '/state' AND held.expires_at > new.now
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.parent_run_id IS NULL
    AND (held.value IS NULL OR (held.blob_id IS NULL AND json_type(held.value) = 'object'));
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT run.tenant_id, run.agent_id, run.id, json_array(json_object('entry',
      json_object('event', 'ended', 'status', run.status, 'ms', run.ended_at - run.started_at))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id;
  UPDATE working_key SET expires_at = min(expires_at, new.now)
  WHERE (tenant_id, agent_id, instance) IN (
    SELECT run.tenant_id, run.agent_id, run.id FROM agent_runs AS run
    WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.parent_run_id IS NOT NULL
  );
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT parent.tenant_id, parent.agent_id, parent.id, json_array(json_object('entry', CASE
      WHEN run.status = 'failed' THEN json_object('event', 'child_ended', 'run_id', run.id, 'agent_id', run.agent_id,
        'status', run.status, 'ms', run.ended_at - run.started_at, 'error', run.error)
      WHEN length(CAST(run.output AS BLOB)) > new.most_result THEN json_object('event', 'child_ended',
        'run_id', run.id, 'agent_id', run.agent_id, 'status', run.status, 'ms', run.ended_at - run.started_at,
        'output_bytes', length(CAST(run.output AS BLOB)))
      ELSE json_object('event', 'child_ended', 'run_id', run.id, 'agent_id', run.agent_id, 'status', run.status,
        'ms', run.ended_at - run.started_at, 'output', json(coalesce(run.output, 'null')))
    END)),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run CROSS JOIN agent_runs AS parent
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    AND parent.tenant_id = new.tenant_id AND parent.id = run.parent_run_id;
  UPDATE agent_runs SET kept = 2 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0046_delegated_runs.sql', '0037_compatibility.sql');
