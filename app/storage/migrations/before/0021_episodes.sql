-- Episodes: what happened in runs (docs/tiers.md). A row is never changed: it is written once and pruned by its age.
CREATE TABLE memory_episodes (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 26),
  run_id TEXT NOT NULL,
  -- Those of its run.
  agent_id TEXT NOT NULL,
  agent_type TEXT NOT NULL,
  type TEXT NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
  content TEXT NOT NULL CHECK (length(CAST(content AS BLOB)) <= 32768),
  data TEXT NOT NULL CHECK (length(CAST(data AS BLOB)) <= 10240),
  occurred_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT;

-- One for each question that is asked of the newest, so that an answer reads no more rows than it has.
CREATE INDEX memory_episodes_newest ON memory_episodes (tenant_id, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_type ON memory_episodes (tenant_id, agent_type, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_agent ON memory_episodes (tenant_id, agent_id, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_agent_type
  ON memory_episodes (tenant_id, agent_id, agent_type, created_at DESC, id DESC);
CREATE INDEX memory_episodes_of_run ON memory_episodes (tenant_id, run_id, created_at DESC, id DESC);

-- How many runs and episodes a tenant has, kept right by the triggers below in the statement that changes them.
CREATE TABLE episodic_count (
  tenant_id TEXT NOT NULL,
  runs INTEGER NOT NULL DEFAULT 0,
  episodes INTEGER NOT NULL DEFAULT 0,
  -- The last day (since the epoch, UTC) on which it was told that the limit is near.
  warned_day INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

INSERT INTO episodic_count (tenant_id, runs) SELECT tenant_id, count(*) FROM agent_runs GROUP BY tenant_id;

CREATE TRIGGER memory_episodes_counted AFTER INSERT ON memory_episodes
BEGIN
  INSERT INTO episodic_count (tenant_id, episodes) VALUES (new.tenant_id, 1)
  ON CONFLICT (tenant_id) DO UPDATE SET episodes = episodic_count.episodes + 1;
END;

CREATE TRIGGER memory_episodes_uncounted AFTER DELETE ON memory_episodes
BEGIN
  UPDATE episodic_count SET episodes = episodes - 1 WHERE tenant_id = old.tenant_id;
  DELETE FROM episodic_count WHERE tenant_id = old.tenant_id AND episodes <= 0 AND runs <= 0;
END;

CREATE TRIGGER agent_runs_counted AFTER INSERT ON agent_runs
BEGIN
  INSERT INTO episodic_count (tenant_id, runs) VALUES (new.tenant_id, 1)
  ON CONFLICT (tenant_id) DO UPDATE SET runs = episodic_count.runs + 1;
END;

CREATE TRIGGER agent_runs_uncounted AFTER DELETE ON agent_runs
BEGIN
  UPDATE episodic_count SET runs = runs - 1 WHERE tenant_id = old.tenant_id;
  DELETE FROM episodic_count WHERE tenant_id = old.tenant_id AND episodes <= 0 AND runs <= 0;
END;

-- What must hold of a write to a run, in the run of the database that makes it. The trigger lets it pass, or stops it.
CREATE VIEW run_write AS
SELECT
  -- agent_id is the only agent whose run it may be; NULL: of any.
  NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- Whether it begins the run, how many runs and episodes the tenant may have, and a JSON array of the episodes' ids.
  NULL AS begins, NULL AS most_runs, NULL AS most_episodes, NULL AS episode_ids;

CREATE TRIGGER run_write_checked INSTEAD OF INSERT ON run_write
BEGIN
  SELECT CASE
    WHEN new.begins THEN iif(
      NOT EXISTS (SELECT 1 FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id)
        AND coalesce((SELECT held.runs FROM episodic_count AS held WHERE held.tenant_id = new.tenant_id), 0)
          >= new.most_runs,
      RAISE(ABORT, 'runs_full'), NULL)
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
