-- Runs keep themselves (docs/tiers.md): what begins and ends a run writes its turn state, and what names a run writes a row
-- into its log. What is kept so never refuses the run of the database that it tells of: where there is no room it says
-- nothing. The statements fill in the moment (`now`, by the database's clock) and the limits, as in 0019_working.sql.

-- The run under which a memory was written first. An ingestion's messages, and what is learned of them, have that of the
-- ingestion.
ALTER TABLE long_term_memory ADD COLUMN run_id TEXT;
CREATE INDEX long_term_memory_of_run ON long_term_memory (tenant_id, run_id, id) WHERE run_id IS NOT NULL;
ALTER TABLE ingestion ADD COLUMN run_id TEXT;

-- What state and log tell of a run: 1, that it began; 2, that it ended; NULL: nothing. So a run that is begun or ended
-- again changes nothing.
ALTER TABLE agent_runs ADD COLUMN kept INTEGER CHECK (kept IN (1, 2));

-- Entries for the log of a run.
CREATE VIEW run_log_note AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- [{"entry": JSON, "ago": how long ago it happened, in ms; absent: now}, ...]
  NULL AS entries,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances,
  -- What an entry counts beside its own bytes.
  NULL AS overhead;

-- Appends entries to the log of a run of this agent, where there is such a run and room for all of them.
CREATE TRIGGER run_log_note_made INSTEAD OF INSERT ON run_log_note
WHEN json_array_length(new.entries) > 0
  AND EXISTS (
    SELECT 1 FROM agent_runs AS run
    WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id AND run.agent_id = new.agent_id
  )
  AND (
    EXISTS (
      SELECT 1 FROM working_instance AS used
      WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
        AND used.expires_at > new.now
    ) OR (
      SELECT count(*) FROM working_instance AS other
      WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
    ) < new.most_instances
  )
  AND (
    SELECT sum(new.overhead + length(CAST(said.value ->> 'entry' AS BLOB))) FROM json_each(new.entries) AS said
  ) + (
    SELECT coalesce(sum(held.bytes), 0) FROM working_log AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.run_id = new.run_id
      AND held.expires_at > new.now
  ) <= new.most_bytes
BEGIN
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, json_array_length(new.entries), new.ttl_ms, new.now,
    new.most_instances);
  DELETE FROM working_log
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND run_id = new.run_id AND expires_at <= new.now;
  INSERT INTO working_log (tenant_id, agent_id, run_id, number, bytes, created_at, expires_at, entry)
  SELECT new.tenant_id, new.agent_id, new.run_id, used.version - json_array_length(new.entries) + 1 + said.key,
    new.overhead + length(CAST(said.value ->> 'entry' AS BLOB)), new.now - coalesce(said.value ->> 'ago', 0),
    new.now + new.ttl_ms, said.value ->> 'entry'
  FROM working_instance AS used CROSS JOIN json_each(new.entries) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id;
END;

-- Puts a turn state in the place of the one that there is, where the instance of the run has room for it. One that is
-- there keeps its expiry.
CREATE VIEW run_state_put AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id, NULL AS value,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances;

CREATE TRIGGER run_state_put_done INSTEAD OF INSERT ON run_state_put
WHEN (
    EXISTS (
      SELECT 1 FROM working_instance AS used
      WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
        AND used.expires_at > new.now
    ) OR (
      SELECT count(*) FROM working_instance AS other
      WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
    ) < new.most_instances
  )
  AND length('/state') + length(CAST(new.value AS BLOB)) + (
    SELECT coalesce(sum(held.bytes), 0) FROM working_key AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.run_id
      AND held.key <> '/state' AND held.expires_at > new.now
  ) <= new.most_bytes
BEGIN
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, 1, new.ttl_ms, new.now, new.most_instances);
  DELETE FROM working_key
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.run_id AND expires_at <= new.now;
  INSERT INTO working_key (tenant_id, agent_id, instance, key, bytes, version, expires_at, value)
  SELECT new.tenant_id, new.agent_id, new.run_id, '/state', length('/state') + length(CAST(new.value AS BLOB)),
    used.version, new.now + new.ttl_ms, new.value
  FROM working_instance AS used
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id
  ON CONFLICT (tenant_id, agent_id, instance, key) DO UPDATE SET
    bytes = excluded.bytes, version = excluded.version, value = excluded.value;
END;

-- What a run that has begun, or has ended, leaves in its working memory: once each.
CREATE VIEW run_keep AS
SELECT NULL AS tenant_id, NULL AS run_id, NULL AS ttl_ms, NULL AS now,
  -- Of the keys of an instance, and of a log.
  NULL AS most_bytes, NULL AS most_log_bytes,
  NULL AS most_instances, NULL AS overhead;

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
  UPDATE agent_runs SET kept = 1 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;

-- A state that its harness has set gets the two fields of the end where it is an object in its row; any other stays.
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
  WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id
    AND (held.value IS NULL OR (held.blob_id IS NULL AND json_type(held.value) = 'object'));
  INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)
  SELECT run.tenant_id, run.agent_id, run.id, json_array(json_object('entry',
      json_object('event', 'ended', 'status', run.status, 'ms', run.ended_at - run.started_at))),
    new.ttl_ms, new.now, new.most_log_bytes, new.most_instances, new.overhead
  FROM agent_runs AS run WHERE run.tenant_id = new.tenant_id AND run.id = new.run_id;
  UPDATE agent_runs SET kept = 2 WHERE tenant_id = new.tenant_id AND id = new.run_id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0045_runs_keep_themselves.sql', '0037_compatibility.sql');
