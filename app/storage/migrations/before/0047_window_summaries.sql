-- A window is bounded by tokens, and holds summaries of the turns that fell out of it (ADR 0065).

-- Whether the caller told its tokens; else they are estimated, as those of turns from before this migration.
ALTER TABLE working_turn ADD COLUMN told INTEGER CHECK (told IN (0, 1));
-- Of its turns; NULL: they were not counted yet.
ALTER TABLE working_window ADD COLUMN tokens INTEGER;

-- A summary of turns that are memories now. It goes with its window.
CREATE TABLE working_summary (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  -- The places that its first and its last turn had, how many they are, and when they were said.
  first_place INTEGER NOT NULL,
  last_place INTEGER NOT NULL CHECK (last_place >= first_place),
  turns INTEGER NOT NULL CHECK (turns > 0),
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  made_by TEXT NOT NULL CHECK (made_by IN ('model', 'reader', 'sentences')),
  -- The ids of memories that its turns are, as a JSON array: first all that its sentences rest on.
  memories TEXT NOT NULL CHECK (length(CAST(memories AS BLOB)) <= 16384),
  -- [{"text", "memories": the ids of those that it rests on, "weight"}, ...]
  sentences TEXT NOT NULL CHECK (length(CAST(sentences AS BLOB)) <= 65536),
  counted_bytes INTEGER GENERATED ALWAYS AS (
    200 + length(CAST(agent_id AS BLOB)) + length(CAST(instance AS BLOB)) + length(CAST(memories AS BLOB))
      + length(CAST(sentences AS BLOB))
  ) VIRTUAL,
  PRIMARY KEY (tenant_id, agent_id, instance, last_place)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER working_summary_checked BEFORE INSERT ON working_summary
BEGIN
  SELECT RAISE(ABORT, 'no_summary')
  WHERE json_type(new.memories) <> 'array' OR json_type(new.sentences) <> 'array' OR EXISTS (
    SELECT 1 FROM json_each(new.sentences) AS sentence
    WHERE CASE sentence.type WHEN 'object' THEN
      json_type(sentence.value, '$.text') IS NOT 'text' OR json_type(sentence.value, '$.memories') IS NOT 'array'
        OR coalesce(json_type(sentence.value, '$.weight'), '') NOT IN ('integer', 'real')
      ELSE TRUE END
  );
END;

CREATE TRIGGER working_summary_bytes_counted AFTER INSERT ON working_summary
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes);
END;

CREATE TRIGGER working_summary_bytes_recounted AFTER UPDATE ON working_summary
WHEN new.counted_bytes <> old.counted_bytes
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (new.tenant_id, new.agent_id, 'working', new.counted_bytes - old.counted_bytes);
END;

CREATE TRIGGER working_summary_bytes_uncounted AFTER DELETE ON working_summary
BEGIN
  INSERT INTO usage_change (tenant_id, agent_id, tier, bytes)
  VALUES (old.tenant_id, old.agent_id, 'working', -old.counted_bytes);
END;

-- What is deleted stands in no summary either: the sentences that rest on a memory go with it. A move of the tenant deletes
-- memories to write them anew, and carries summaries as they are.
CREATE TRIGGER long_term_memory_unsummarised AFTER DELETE ON long_term_memory
WHEN old.message_id IS NOT NULL AND old.session_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  UPDATE working_summary SET
    memories = (
      SELECT json_group_array(memory.value) FROM json_each(working_summary.memories) AS memory
      WHERE memory.value <> old.id
    ),
    sentences = (
      SELECT json_group_array(json(sentence.value)) FROM json_each(working_summary.sentences) AS sentence
      WHERE NOT EXISTS (
        SELECT 1 FROM json_each(sentence.value, '$.memories') AS memory WHERE memory.value = old.id
      )
    )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND instance = old.session_id
    AND instr(memories, old.id) > 0;
END;

-- The views of 0019, which count tokens now. Code from before this migration tells no bound of them: then there is none.
DROP VIEW working_append;
DROP VIEW working_weigh;
DROP VIEW working_fall;

-- Adds turns to a window.
CREATE VIEW working_append AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- [{"id", "role", "content", "bytes", "tokens", "told", "said_at"}, ...], each id once and not known yet.
  NULL AS messages,
  -- Whether said_at counts from the moment of the append.
  NULL AS untold,
  NULL AS written_by, NULL AS written_through, NULL AS issued_at, NULL AS speakers,
  NULL AS ttl_ms, NULL AS now, NULL AS kept_bytes, NULL AS kept_messages, NULL AS most_bytes, NULL AS most_messages,
  NULL AS most_instances, NULL AS kept_tokens;

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
  INSERT INTO working_turn (tenant_id, agent_id, instance, place, id, role, said_at, bytes, tokens, told,
    written_by, written_through, issued_at, speakers, content)
  SELECT new.tenant_id, new.agent_id, new.instance, used.version - json_array_length(new.messages) + 1 + said.key,
    said.value ->> 'id', said.value ->> 'role',
    -- Where no time is told, behind what was said before: at most an hour ahead of now.
    (said.value ->> 'said_at') + iif(new.untold, max(new.now, min(new.now + 3600000, 1 + (
      SELECT coalesce(max(before.said_at), 0) FROM working_turn AS before
      WHERE before.tenant_id = new.tenant_id AND before.agent_id = new.agent_id AND before.instance = new.instance
    ))), 0),
    said.value ->> 'bytes', said.value ->> 'tokens', said.value ->> 'told',
    new.written_by, new.written_through, new.issued_at, new.speakers, said.value ->> 'content'
  FROM working_instance AS used CROSS JOIN json_each(new.messages) AS said
  WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.instance = new.instance;
  INSERT INTO working_window (tenant_id, agent_id, instance, expires_at)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.now + new.ttl_ms)
  ON CONFLICT (tenant_id, agent_id, instance) DO UPDATE SET expires_at = excluded.expires_at;
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages, kept_tokens)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages, new.kept_tokens);
END;

-- Counts the turns of a window again.
CREATE VIEW working_weigh AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance, NULL AS kept_bytes, NULL AS kept_messages,
  NULL AS kept_tokens;

CREATE TRIGGER working_weigh_done INSTEAD OF INSERT ON working_weigh
BEGIN
  UPDATE working_window SET (messages, bytes, tokens, over) = (
    SELECT count(*), coalesce(sum(held.bytes), 0), coalesce(sum(held.tokens), 0),
      coalesce(sum(held.bytes), 0) > new.kept_bytes OR count(*) > new.kept_messages
        -- The newest turn stays, whatever tokens it has.
        OR (count(*) > 1 AND coalesce(sum(held.tokens) > new.kept_tokens, 0))
    FROM working_turn AS held
    WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
  )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance;
END;

-- Lets turns fall out of a window: those that are memories now, and those that can never become any, since the agent has no
-- long-term memory or whoever brought them was revoked. All of it is one statement: no summary is ever made twice.
CREATE VIEW working_fall AS
SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS instance,
  -- The places of the turns, as a JSON array.
  NULL AS places,
  NULL AS now, NULL AS kept_bytes, NULL AS kept_messages, NULL AS kept_tokens,
  -- The summary of these turns, as an object of the columns of its table, with "instead_of": the summaries whose place it
  -- takes, [{"last_place", "turns"}, ...]. NULL: none is made. With one, all of its turns fall, or none does.
  NULL AS summary,
  -- Whether they fall, without a summary, since the window's time has passed.
  NULL AS idle;

CREATE TRIGGER working_fall_done INSTEAD OF INSERT ON working_fall
BEGIN
  -- Nothing is done where a summary is not of what is there now (a memory that it names may have been deleted while it was
  -- made), or the window is in use again.
  SELECT RAISE(IGNORE) WHERE (new.summary IS NOT NULL OR new.idle) AND NOT EXISTS (
    SELECT 1 FROM working_window AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.instance = new.instance
      AND (new.summary IS NOT NULL OR own.expires_at <= new.now)
  ) OR new.summary IS NOT NULL AND (EXISTS (
    SELECT 1 FROM json_each(new.places) AS place
    WHERE NOT EXISTS (
      SELECT 1 FROM working_turn AS turn CROSS JOIN long_term_memory AS memory
      WHERE turn.tenant_id = new.tenant_id AND turn.agent_id = new.agent_id AND turn.instance = new.instance
        AND turn.place = place.value
        AND memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id AND memory.message_id = turn.id
        AND (memory.expires_at IS NULL OR memory.expires_at > new.now)
    )
  ) OR EXISTS (
    SELECT 1 FROM json_each(new.summary, '$.instead_of') AS former
    WHERE NOT EXISTS (
      SELECT 1 FROM working_summary AS held
      WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.instance = new.instance
        AND held.last_place = former.value ->> 'last_place' AND held.turns = former.value ->> 'turns'
    )
  ) OR EXISTS (
    SELECT 1 FROM json_each(new.summary, '$.memories') AS named
    WHERE NOT EXISTS (
      SELECT 1 FROM long_term_memory AS memory
      WHERE memory.id = named.value AND +memory.tenant_id = new.tenant_id AND +memory.agent_id = new.agent_id
    )
  ));
  DELETE FROM working_summary
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance
    AND last_place IN (SELECT former.value ->> 'last_place' FROM json_each(new.summary, '$.instead_of') AS former);
  INSERT INTO working_summary (tenant_id, agent_id, instance, first_place, last_place, turns, since, until, made_by,
    memories, sentences)
  SELECT new.tenant_id, new.agent_id, new.instance, new.summary ->> 'first_place', new.summary ->> 'last_place',
    new.summary ->> 'turns', new.summary ->> 'since', new.summary ->> 'until', new.summary ->> 'made_by',
    new.summary -> 'memories', new.summary -> 'sentences'
  WHERE new.summary IS NOT NULL;
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
  DELETE FROM working_summary
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND instance = new.instance AND NOT EXISTS (
    SELECT 1 FROM working_window AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.instance = new.instance
  );
  INSERT INTO working_weigh (tenant_id, agent_id, instance, kept_bytes, kept_messages, kept_tokens)
  VALUES (new.tenant_id, new.agent_id, new.instance, new.kept_bytes, new.kept_messages, new.kept_tokens);
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0047_window_summaries.sql', '0037_compatibility.sql');
