-- Working memory: the scratch state of one running copy of an agent, an instance (docs/tiers.md). Each write is one insert
-- into a view, whose trigger checks and does all of it, or stops the run with RAISE(ABORT, code): so nothing is ever half
-- written. The statements fill in the moment (`now`, by the database's clock) and the limits (app/domain/limits.py).

-- What outlives the keys of an instance: the last version that was given to anything of it. Versions only rise, and begin
-- at the database's clock: an instance that was forgotten and comes again begins above every version that it had.
CREATE TABLE working_instance (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  -- When the last thing in it expires.
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, instance)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_instance_living ON working_instance (tenant_id, expires_at);
CREATE INDEX working_instance_expiring ON working_instance (expires_at);

-- The value stands last: what sums up bytes does not read it. The key `/state`, which no caller can name, is the turn state
-- of the run that the instance is.
CREATE TABLE working_key (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
  bytes INTEGER NOT NULL CHECK (bytes BETWEEN 1 AND 131072),
  version INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- The blob that the value is, where it is too large: `value` has a pointer then, `bytes` its size (0025_blobs.sql).
  blob_id TEXT,
  value TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, instance, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_key_expiring ON working_key (expires_at);

CREATE TABLE working_log (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  entry TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_log_expiring ON working_log (expires_at);

CREATE TABLE working_window (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  -- Of its turns, and whether these are more than it keeps.
  messages INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  over INTEGER NOT NULL DEFAULT 0 CHECK (over IN (0, 1)),
  -- Of the turns that fell out of it into long-term memory.
  fallen INTEGER NOT NULL DEFAULT 0,
  fallen_since INTEGER,
  fallen_until INTEGER,
  -- Until when somebody moves turns, and when that was tried last.
  busy_until INTEGER NOT NULL DEFAULT 0,
  tried_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, agent_id, instance)
) STRICT, WITHOUT ROWID;
CREATE INDEX working_window_expiring ON working_window (expires_at);
CREATE INDEX working_window_over ON working_window (tried_at) WHERE over = 1;

CREATE TABLE working_turn (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  place INTEGER NOT NULL,
  -- What makes it the message that it becomes (app/domain/messages.py).
  id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
  said_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes BETWEEN 1 AND 32768),
  tokens INTEGER NOT NULL,
  -- Who brought it, as it is said of an ingestion (0015_profiles.sql).
  written_by TEXT,
  written_through TEXT NOT NULL,
  issued_at INTEGER,
  speakers TEXT,
  content TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, instance, place),
  UNIQUE (tenant_id, agent_id, instance, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW working_put AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS key, NULL AS value, NULL AS blob_id, NULL AS bytes,
  NULL AS ttl_ms,
  -- Whether the instance is a run, which has to be there.
  NULL AS of_run,
  -- The versions of which the key has to have one, as a JSON array of texts, "*" for any; and whether it has to be new.
  NULL AS if_match, NULL AS if_none_match,
  NULL AS now, NULL AS most_bytes, NULL AS most_keys, NULL AS most_instances;

CREATE TRIGGER working_put_done INSTEAD OF INSERT ON working_put
BEGIN
  SELECT CASE
    WHEN new.of_run AND NOT EXISTS (
      SELECT 1 FROM agent_runs
      WHERE agent_runs.tenant_id = new.tenant_id AND agent_runs.id = new.instance AND agent_runs.agent_id = new.agent_id
    ) THEN RAISE(ABORT, 'no_run')
    WHEN new.if_none_match AND EXISTS (
      SELECT 1 FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key = new.key AND held.expires_at > new.now
    ) THEN RAISE(ABORT, 'precondition_failed')
    WHEN new.if_match IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key = new.key AND held.expires_at > new.now AND EXISTS (
          SELECT 1 FROM json_each(new.if_match) AS wanted WHERE wanted.value IN ('*', CAST(held.version AS TEXT))
        )
    ) THEN RAISE(ABORT, 'precondition_failed')
    WHEN new.bytes + (
      SELECT coalesce(sum(held.bytes), 0) FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key <> new.key AND held.expires_at > new.now
    ) > new.most_bytes THEN RAISE(ABORT, 'over_budget')
    WHEN (
      SELECT count(*) FROM working_key AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.key <> new.key AND held.expires_at > new.now
    ) >= new.most_keys THEN RAISE(ABORT, 'too_many_keys')
  END;
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.instance, 1, new.ttl_ms, new.now, new.most_instances);
  DELETE FROM working_key
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND expires_at <= new.now;
  INSERT INTO working_key (tenant_id, agent_id, instance, key, bytes, version, expires_at, blob_id, value)
  SELECT new.tenant_id, new.agent_id, new.instance, new.key, new.bytes, used.version, new.now + new.ttl_ms, new.blob_id,
    new.value
  FROM working_instance AS used
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance
  ON CONFLICT (tenant_id, agent_id, instance, key) DO UPDATE SET
    bytes = excluded.bytes, version = excluded.version, expires_at = excluded.expires_at, blob_id = excluded.blob_id,
    value = excluded.value;
END;

-- Gives out so many versions of an instance, the last of which its row has then.
CREATE VIEW working_use AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS versions, NULL AS ttl_ms, NULL AS now,
  NULL AS most_instances;

CREATE TRIGGER working_use_done INSTEAD OF INSERT ON working_use
BEGIN
  SELECT RAISE(ABORT, 'too_many_instances')
  WHERE NOT EXISTS (
    SELECT 1 FROM working_instance AS used
    WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance
      AND used.expires_at > new.now
  ) AND (
    SELECT count(*) FROM working_instance AS other
    WHERE other.tenant_id = new.tenant_id AND other.expires_at > new.now
  ) >= new.most_instances;
  INSERT INTO working_instance (tenant_id, agent_id, instance, version, expires_at)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.now + new.versions, new.now + new.ttl_ms)
  ON CONFLICT (tenant_id, agent_id, instance) DO UPDATE SET
    version = max(version, new.now) + new.versions, expires_at = max(expires_at, excluded.expires_at);
END;

CREATE VIEW working_log_append AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS run_id,
  -- [{"entry": JSON as text, "bytes": its size}, ...]
  NULL AS entries,
  NULL AS ttl_ms, NULL AS now, NULL AS most_bytes, NULL AS most_instances;

CREATE TRIGGER working_log_append_done INSTEAD OF INSERT ON working_log_append
BEGIN
  SELECT CASE
    WHEN NOT EXISTS (
      SELECT 1 FROM agent_runs
      WHERE agent_runs.tenant_id = new.tenant_id AND agent_runs.id = new.run_id AND agent_runs.agent_id = new.agent_id
    ) THEN RAISE(ABORT, 'no_run')
    WHEN (SELECT sum(said.value ->> 'bytes') FROM json_each(new.entries) AS said) + (
      SELECT coalesce(sum(held.bytes), 0) FROM working_log AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.run_id = new.run_id
        AND held.expires_at > new.now
    ) > new.most_bytes THEN RAISE(ABORT, 'over_log')
  END;
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.run_id, json_array_length(new.entries), new.ttl_ms, new.now,
    new.most_instances);
  DELETE FROM working_log
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND run_id = new.run_id AND expires_at <= new.now;
  INSERT INTO working_log (tenant_id, agent_id, run_id, number, bytes, created_at, expires_at, entry)
  SELECT new.tenant_id, new.agent_id, new.run_id, used.version - json_array_length(new.entries) + 1 + said.key,
    said.value ->> 'bytes', new.now, new.now + new.ttl_ms, said.value ->> 'entry'
  FROM working_instance AS used CROSS JOIN json_each(new.entries) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.run_id;
END;

-- Adds turns to a window.
CREATE VIEW working_append AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- [{"id", "role", "content", "bytes", "tokens", "said_at"}, ...], each id once and not known yet.
  NULL AS messages,
  -- Whether said_at counts from the moment of the append.
  NULL AS untold,
  NULL AS written_by, NULL AS written_through, NULL AS issued_at, NULL AS speakers,
  NULL AS ttl_ms, NULL AS now, NULL AS kept_bytes, NULL AS kept_messages, NULL AS most_bytes, NULL AS most_messages,
  NULL AS most_instances;

CREATE TRIGGER working_append_done INSTEAD OF INSERT ON working_append
BEGIN
  SELECT RAISE(ABORT, 'over_window') WHERE json_array_length(new.messages) > 0 AND EXISTS (
    SELECT 1 FROM (
      SELECT coalesce(sum(held.bytes), 0) AS bytes, count(*) AS messages FROM working_turn AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
    ) AS held
    WHERE held.messages + json_array_length(new.messages) > new.most_messages
      OR held.bytes + (SELECT sum(said.value ->> 'bytes') FROM json_each(new.messages) AS said) > new.most_bytes
  );
  INSERT INTO working_use (tenant_id, agent_id, instance, versions, ttl_ms, now, most_instances)
  VALUES (new.tenant_id, new.agent_id, new.instance, json_array_length(new.messages), new.ttl_ms, new.now,
    new.most_instances);
  INSERT INTO working_turn (tenant_id, agent_id, instance, place, id, role, said_at, bytes, tokens,
    written_by, written_through, issued_at, speakers, content)
  SELECT new.tenant_id, new.agent_id, new.instance, used.version - json_array_length(new.messages) + 1 + said.key,
    said.value ->> 'id', said.value ->> 'role',
    -- Where no time is told, behind what was said before: at most an hour ahead of now.
    (said.value ->> 'said_at') + iif(new.untold, max(new.now, min(new.now + 3600000, 1 + (
      SELECT coalesce(max(before.said_at), 0) FROM working_turn AS before
      WHERE before.tenant_id = new.tenant_id AND before.agent_id = new.agent_id AND before.instance = new.instance
    ))), 0),
    said.value ->> 'bytes', said.value ->> 'tokens',
    new.written_by, new.written_through, new.issued_at, new.speakers, said.value ->> 'content'
  FROM working_instance AS used CROSS JOIN json_each(new.messages) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance;
  INSERT INTO working_window (tenant_id, agent_id, instance, expires_at)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.now + new.ttl_ms)
  ON CONFLICT (tenant_id, agent_id, instance) DO UPDATE SET expires_at = excluded.expires_at;
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages);
END;

-- Counts the turns of a window again.
CREATE VIEW working_weigh AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS kept_bytes, NULL AS kept_messages;

CREATE TRIGGER working_weigh_done INSTEAD OF INSERT ON working_weigh
BEGIN
  UPDATE working_window SET (messages, bytes, over) = (
    SELECT count(*), coalesce(sum(held.bytes), 0),
      coalesce(sum(held.bytes), 0) > new.kept_bytes OR count(*) > new.kept_messages
    FROM working_turn AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
  )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance;
END;

-- Lets turns fall out of a window: those that are memories now, and those that can never become any, since the agent has no
-- long-term memory or whoever brought them was revoked.
CREATE VIEW working_fall AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- The places of the turns, as a JSON array.
  NULL AS places,
  NULL AS now, NULL AS kept_bytes, NULL AS kept_messages;

CREATE TRIGGER working_fall_done INSTEAD OF INSERT ON working_fall
BEGIN
  UPDATE working_window SET
    fallen = fallen + gone.messages,
    fallen_since = min(coalesce(fallen_since, gone.since), gone.since),
    fallen_until = max(coalesce(fallen_until, gone.until), gone.until)
  FROM (
    SELECT count(*) AS messages, min(turn.said_at) AS since, max(turn.said_at) AS until
    FROM json_each(new.places) AS place CROSS JOIN working_turn AS turn
    WHERE turn.tenant_id = new.tenant_id AND turn.agent_id = new.agent_id AND turn.instance = new.instance
      AND turn.place = place.value AND EXISTS (
        SELECT 1 FROM long_term_memory AS memory
        WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id AND memory.message_id = turn.id
          AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
      )
  ) AS gone
  WHERE working_window.tenant_id = new.tenant_id AND working_window.agent_id = new.agent_id
    AND working_window.instance = new.instance AND gone.messages > 0;
  DELETE FROM working_turn
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance
    AND place IN (SELECT place.value FROM json_each(new.places) AS place)
    AND (
      EXISTS (
        SELECT 1 FROM long_term_memory AS memory
        WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id
          AND memory.message_id = working_turn.id AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
      )
      OR EXISTS (
        SELECT 1 FROM agent
        WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id AND NOT agent.long_term_enabled
      )
      OR EXISTS (
        SELECT 1 FROM revocation
        WHERE revocation.tenant_id = new.tenant_id AND (
          revocation.credential_id = working_turn.written_by
          OR revocation.credential_id = '' AND revocation.issued_before > working_turn.issued_at
        )
      )
    );
  DELETE FROM working_window
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND expires_at <= new.now
    AND NOT EXISTS (
      SELECT 1 FROM working_turn AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
    );
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages);
END;
