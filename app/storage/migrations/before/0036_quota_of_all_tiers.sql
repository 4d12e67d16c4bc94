-- The bytes of every tier count in the quota of bytes, and every write of a tier in that of stores, as those of
-- long-term memory do (docs/decisions/0047-one-quota-for-all-tiers.md). usage.bytes is what a tenant or an agent has of
-- all tiers together; the columns below are parts of it, and the rest is long-term memory.

ALTER TABLE usage ADD COLUMN working_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN episodic_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN procedural_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN shared_context_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN audit_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN blobs_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN ingestion_bytes INTEGER NOT NULL DEFAULT 0;
-- What bytes was when the run began that writes to a tier: a run may not end above the limit and above this.
ALTER TABLE usage ADD COLUMN bytes_at_entry INTEGER NOT NULL DEFAULT 0;

-- What a row counts, stated once for each table: the bytes in UTF-8 of what callers send and name, of a blob also those
-- of its object, and 200 for ids, numbers and entries of indexes. Of a large value the row has a pointer.
ALTER TABLE working_instance ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB))
) VIRTUAL;

ALTER TABLE working_key ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(key AS BLOB))
    + length(CAST(value AS BLOB))
) VIRTUAL;

ALTER TABLE working_log ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(entry AS BLOB))
) VIRTUAL;

ALTER TABLE working_window ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB))
) VIRTUAL;

ALTER TABLE working_turn ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(content AS BLOB))
    + coalesce(length(CAST(speakers AS BLOB)), 0)
) VIRTUAL;

ALTER TABLE agent_runs ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(input AS BLOB))
    + coalesce(length(CAST(output AS BLOB)), 0) + coalesce(length(CAST(error AS BLOB)), 0)
    + coalesce(length(CAST(workflow_id AS BLOB)), 0)
) VIRTUAL;

ALTER TABLE memory_episodes ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(type AS BLOB))
    + length(CAST(content AS BLOB)) + length(CAST(data AS BLOB))
) VIRTUAL;

ALTER TABLE workflow ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(id AS BLOB)) + length(CAST(agent_type AS BLOB)) + length(CAST(task_type AS BLOB))
    + length(CAST(spec AS BLOB))
) VIRTUAL;

ALTER TABLE workflow_outcome ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(workflow_id AS BLOB))
) VIRTUAL;

ALTER TABLE workflow_version ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(workflow_id AS BLOB)) + length(CAST(spec AS BLOB))
) VIRTUAL;

ALTER TABLE workflow_tally ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(workflow_id AS BLOB))
) VIRTUAL;

ALTER TABLE context_versions ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(name AS BLOB)) + length(CAST(media_type AS BLOB)) + length(CAST(content AS BLOB))
) VIRTUAL;

ALTER TABLE tool_call_log ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(tool AS BLOB)) + length(CAST(ms AS BLOB))
    + coalesce(length(CAST(input AS BLOB)), 0) + coalesce(length(CAST(error AS BLOB)), 0)
    + coalesce(length(CAST(output AS BLOB)), 0)
) VIRTUAL;

ALTER TABLE blob ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + size + length(CAST(agent_id AS BLOB)) + length(CAST(media_type AS BLOB))
) VIRTUAL;

ALTER TABLE message ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(session_id AS BLOB)) + length(CAST(content AS BLOB))
) VIRTUAL;

ALTER TABLE pass ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(message_ids AS BLOB))
) VIRTUAL;

ALTER TABLE proposal ADD COLUMN counted_bytes INTEGER GENERATED ALWAYS AS (
  200 + length(CAST(agent_id AS BLOB)) + length(CAST(content AS BLOB)) + length(CAST(message_ids AS BLOB))
    + coalesce(length(CAST(topic AS BLOB)), 0) + coalesce(length(CAST(search_queries AS BLOB)), 0)
    + coalesce(length(CAST(corrected_from AS BLOB)), 0) + coalesce(length(CAST(reason AS BLOB)), 0)
) VIRTUAL;

-- Adds bytes of a tier to the agent, '' where all agents of the tenant share the row, and to the tenant.
CREATE VIEW usage_change AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS tier, NULL AS bytes;

CREATE TRIGGER usage_changed INSTEAD OF INSERT ON usage_change
BEGIN
  INSERT INTO usage (tenant_id, agent_id, bytes, working_bytes, episodic_bytes, procedural_bytes, shared_context_bytes,
    audit_bytes, blobs_bytes, ingestion_bytes)
  SELECT new.tenant_id, scope.agent_id, new.bytes,
    iif(new.tier = 'working', new.bytes, 0),
    iif(new.tier = 'episodic', new.bytes, 0),
    iif(new.tier = 'procedural', new.bytes, 0),
    iif(new.tier = 'shared_context', new.bytes, 0),
    iif(new.tier = 'audit', new.bytes, 0),
    iif(new.tier = 'blobs', new.bytes, 0),
    iif(new.tier = 'ingestion', new.bytes, 0)
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET bytes = usage.bytes + excluded.bytes,
    working_bytes = usage.working_bytes + excluded.working_bytes,
    episodic_bytes = usage.episodic_bytes + excluded.episodic_bytes,
    procedural_bytes = usage.procedural_bytes + excluded.procedural_bytes,
    shared_context_bytes = usage.shared_context_bytes + excluded.shared_context_bytes,
    audit_bytes = usage.audit_bytes + excluded.audit_bytes,
    blobs_bytes = usage.blobs_bytes + excluded.blobs_bytes,
    ingestion_bytes = usage.ingestion_bytes + excluded.ingestion_bytes;
END;

INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'working', sum(counted_bytes) FROM working_instance GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'working', sum(counted_bytes) FROM working_key GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'working', sum(counted_bytes) FROM working_log GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'working', sum(counted_bytes) FROM working_window GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'working', sum(counted_bytes) FROM working_turn GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'episodic', sum(counted_bytes) FROM agent_runs GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'episodic', sum(counted_bytes) FROM memory_episodes GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, '', 'procedural', sum(counted_bytes) FROM workflow GROUP BY tenant_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, coalesce(agent_id, ''), 'procedural', sum(counted_bytes) FROM workflow_outcome
GROUP BY tenant_id, coalesce(agent_id, '');
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, '', 'procedural', sum(counted_bytes) FROM workflow_version GROUP BY tenant_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, coalesce(agent_id, ''), 'procedural', sum(counted_bytes) FROM workflow_tally
GROUP BY tenant_id, coalesce(agent_id, '');
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, '', 'shared_context', sum(counted_bytes) FROM context_versions GROUP BY tenant_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'audit', sum(counted_bytes) FROM tool_call_log GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'blobs', sum(counted_bytes) FROM blob GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'ingestion', sum(counted_bytes) FROM message GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'ingestion', sum(counted_bytes) FROM pass GROUP BY tenant_id, agent_id;
INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
SELECT tenant_id, agent_id, 'ingestion', sum(counted_bytes) FROM proposal GROUP BY tenant_id, agent_id;

CREATE TRIGGER working_instance_bytes_counted AFTER INSERT ON working_instance
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_instance_bytes_uncounted AFTER DELETE ON working_instance
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_counted AFTER INSERT ON working_key
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_recounted AFTER UPDATE ON working_key WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER working_key_bytes_uncounted AFTER DELETE ON working_key
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_log_bytes_counted AFTER INSERT ON working_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_log_bytes_uncounted AFTER DELETE ON working_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_window_bytes_counted AFTER INSERT ON working_window
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_window_bytes_uncounted AFTER DELETE ON working_window
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER working_turn_bytes_counted AFTER INSERT ON working_turn
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_turn_bytes_uncounted AFTER DELETE ON working_turn
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

CREATE TRIGGER agent_runs_bytes_counted AFTER INSERT ON agent_runs
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes);
END;

CREATE TRIGGER agent_runs_bytes_recounted AFTER UPDATE ON agent_runs WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER agent_runs_bytes_uncounted AFTER DELETE ON agent_runs
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'episodic', -old.counted_bytes);
END;

CREATE TRIGGER memory_episodes_bytes_counted AFTER INSERT ON memory_episodes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'episodic', new.counted_bytes);
END;

CREATE TRIGGER memory_episodes_bytes_uncounted AFTER DELETE ON memory_episodes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'episodic', -old.counted_bytes);
END;

CREATE TRIGGER workflow_bytes_counted AFTER INSERT ON workflow
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_bytes_recounted AFTER UPDATE ON workflow WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER workflow_bytes_uncounted AFTER DELETE ON workflow
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_outcome_bytes_counted AFTER INSERT ON workflow_outcome
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_outcome_bytes_uncounted AFTER DELETE ON workflow_outcome
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_version_bytes_counted AFTER INSERT ON workflow_version
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_version_bytes_uncounted AFTER DELETE ON workflow_version
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_counted AFTER INSERT ON workflow_tally
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_uncounted AFTER DELETE ON workflow_tally
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes);
END;

CREATE TRIGGER workflow_tally_bytes_recounted AFTER UPDATE OF agent_id ON workflow_tally
WHEN new.agent_id IS NOT old.agent_id
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, coalesce(old.agent_id, ''), 'procedural', -old.counted_bytes),
    (new.tenant_id, coalesce(new.agent_id, ''), 'procedural', new.counted_bytes);
END;

CREATE TRIGGER context_versions_bytes_counted AFTER INSERT ON context_versions
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, '', 'shared_context', new.counted_bytes);
END;

CREATE TRIGGER context_versions_bytes_uncounted AFTER DELETE ON context_versions
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, '', 'shared_context', -old.counted_bytes);
END;

CREATE TRIGGER tool_call_log_bytes_counted AFTER INSERT ON tool_call_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'audit', new.counted_bytes);
END;

CREATE TRIGGER tool_call_log_bytes_uncounted AFTER DELETE ON tool_call_log
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'audit', -old.counted_bytes);
END;

CREATE TRIGGER blob_bytes_counted AFTER INSERT ON blob
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'blobs', new.counted_bytes);
END;

CREATE TRIGGER blob_bytes_uncounted AFTER DELETE ON blob
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'blobs', -old.counted_bytes);
END;

CREATE TRIGGER message_bytes_counted AFTER INSERT ON message
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER message_bytes_uncounted AFTER DELETE ON message
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;

CREATE TRIGGER pass_bytes_counted AFTER INSERT ON pass
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER pass_bytes_uncounted AFTER DELETE ON pass
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_counted AFTER INSERT ON proposal
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_recounted AFTER UPDATE ON proposal WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'ingestion', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER proposal_bytes_uncounted AFTER DELETE ON proposal
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'ingestion', -old.counted_bytes);
END;

-- The gate of 0018, which also counts a write as a store, and notes what there is before it.
DROP TRIGGER tier_write_checked;
DROP VIEW tier_write;

CREATE VIEW tier_write AS
SELECT
  -- Whose data is written; agent_id is NULL where it belongs to all agents of the tenant.
  NULL AS tenant_id, NULL AS agent_id,
  -- The credential that writes, and when it was issued; NULL: an operator.
  NULL AS written_by, NULL AS issued_at,
  -- The limits of who has no others (0011_writers.sql); NULL: the run brings nothing.
  NULL AS limits,
  -- What the write is known by where its run is made again; NULL: it does not count as a store.
  NULL AS ticket;

CREATE TRIGGER tier_write_checked INSTEAD OF INSERT ON tier_write
BEGIN
  SELECT CASE
    -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
    WHEN EXISTS (
      SELECT 1 FROM revocation
      WHERE revocation.tenant_id = new.tenant_id AND (
        revocation.credential_id = new.written_by
        OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
      )
    ) THEN RAISE(ABORT, 'revoked')
    WHEN EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
        AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
    WHEN new.ticket IS NOT NULL AND EXISTS (
      SELECT 1 FROM json_each(new.limits) AS scope
      LEFT JOIN quota ON quota.tenant_id = new.tenant_id AND quota.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      LEFT JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      WHERE (scope.key = 'tenant' OR new.agent_id IS NOT NULL) AND usage.ticket IS NOT new.ticket
        AND iif(usage.minute = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, usage.stores, 0)
          >= coalesce(quota.stores_per_minute, scope.value ->> 2)
    ) THEN RAISE(ABORT, 'over_stores')
  END;
  -- usage.ticket is the write that was counted last: one whose run is made again is counted once.
  INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
  SELECT new.tenant_id, scope.agent_id, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000,
    new.ticket IS NOT NULL, new.ticket
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope
  WHERE scope.agent_id IS NOT NULL AND new.limits IS NOT NULL
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    bytes_at_entry = usage.bytes,
    stores = iif(usage.minute = excluded.minute, usage.stores, 0)
      + (excluded.ticket IS NOT NULL AND usage.ticket IS NOT excluded.ticket),
    minute = excluded.minute, ticket = coalesce(excluded.ticket, usage.ticket);
END;

-- The last statement of a run that brings something to a tier: it stops a run that has gone over the quota of bytes.
CREATE VIEW tier_written AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS limits,
  -- Bytes that go again once the run has served its purpose; and whether the run may end above the limit where it began
  -- below it.
  NULL AS leaving, NULL AS may_pass;

CREATE TRIGGER tier_written_checked INSTEAD OF INSERT ON tier_written
BEGIN
  SELECT iif(scope.key = 'agent', RAISE(ABORT, 'over_bytes_of_agent'), RAISE(ABORT, 'over_bytes_of_tenant'))
  FROM json_each(new.limits) AS scope
  JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
  LEFT JOIN quota ON quota.tenant_id = usage.tenant_id AND quota.agent_id = usage.agent_id
  WHERE usage.bytes > usage.bytes_at_entry
    AND iif(new.may_pass, usage.bytes_at_entry + 1, usage.bytes) - new.leaving
      > coalesce(quota.bytes, scope.value ->> 1);
END;
