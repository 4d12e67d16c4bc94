-- What a language model makes of messages (docs/constrained-api.md).

-- Of a memory that a model made of messages: {"message_ids": [...], "topic": ..., "search_queries": [...]}. NULL: it is in
-- the words of whoever stored it.
ALTER TABLE long_term_memory ADD COLUMN learned TEXT;

-- Such a memory is superseded or forgotten while the memory of one of its messages is: of several, by the one that was
-- first. These two name it. NULL: by itself, or not at all.
ALTER TABLE long_term_memory ADD COLUMN superseded_with TEXT;
ALTER TABLE long_term_memory ADD COLUMN forgotten_with TEXT;

-- The messages that such memories come from.
CREATE TABLE memory_source (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, message_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_source_of_memory ON memory_source (tenant_id, agent_id, memory_id);

-- Whoever puts a row in here has a learned memory follow what became of it and of its messages' memories. It is computed
-- from both alone, so the order in which things happened makes no difference, and once more changes nothing. What was
-- forgotten by somebody stays so, whatever becomes of the messages. Its life ends with the first of its messages'.
CREATE VIEW learned_change AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS memory_id;

CREATE TRIGGER learned_change_made INSTEAD OF INSERT ON learned_change
BEGIN
  UPDATE long_term_memory SET
    (superseded_at, superseded_with) = (
      SELECT cause.at, cause.through FROM (
        SELECT own.superseded_at AS at, NULL AS through FROM claim AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.memory_id = new.memory_id
          AND own.whole
        UNION ALL
        SELECT said.superseded_at, said.id FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS cause
      WHERE cause.at IS NOT NULL ORDER BY cause.at, cause.through LIMIT 1
    ),
    (forgotten_at, forgotten_with) = (
      SELECT cause.at, cause.through FROM (
        SELECT 0 AS place, own.forgotten_at AS at, NULL AS through FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.memory_id
          AND own.forgotten_with IS NULL
        UNION ALL
        SELECT 1, said.forgotten_at, said.id FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS cause
      WHERE cause.at IS NOT NULL ORDER BY cause.place, cause.at, cause.through LIMIT 1
    ),
    expires_at = (
      SELECT min(life.ends) FROM (
        SELECT own.expires_at AS ends FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.memory_id
        UNION ALL
        SELECT said.expires_at FROM memory_source AS source CROSS JOIN long_term_memory AS said
        WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.memory_id = new.memory_id
          AND said.tenant_id = new.tenant_id AND said.agent_id = new.agent_id AND said.message_id = source.message_id
      ) AS life
    )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

CREATE TRIGGER long_term_memory_learned AFTER INSERT ON long_term_memory WHEN new.learned IS NOT NULL
BEGIN
  INSERT INTO memory_source (tenant_id, agent_id, message_id, memory_id)
  SELECT new.tenant_id, new.agent_id, cited.value, new.id FROM json_each(new.learned, '$.message_ids') AS cited
  WHERE TRUE ON CONFLICT DO NOTHING;
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

-- A message may become a memory, by an import, after what was learned of it.
CREATE TRIGGER long_term_memory_said AFTER INSERT ON long_term_memory
WHEN new.message_id IS NOT NULL AND coalesce(new.forgotten_at, new.expires_at) IS NOT NULL
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id)
  SELECT source.tenant_id, source.agent_id, source.memory_id FROM memory_source AS source
  WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.message_id = new.message_id;
END;

CREATE TRIGGER long_term_memory_followed
AFTER UPDATE OF superseded_at, forgotten_at, expires_at, message_id ON long_term_memory
WHEN new.message_id IS NOT NULL AND (
  new.superseded_at IS NOT old.superseded_at OR new.forgotten_at IS NOT old.forgotten_at
  OR new.expires_at IS NOT old.expires_at OR old.message_id IS NULL
)
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id)
  SELECT source.tenant_id, source.agent_id, source.memory_id FROM memory_source AS source
  WHERE source.tenant_id = new.tenant_id AND source.agent_id = new.agent_id AND source.message_id = new.message_id;
END;

-- What its topic, or somebody, did to it.
CREATE TRIGGER long_term_memory_follows AFTER UPDATE OF superseded_at, forgotten_at ON long_term_memory
WHEN new.learned IS NOT NULL
  AND (new.superseded_at IS NOT old.superseded_at OR new.forgotten_at IS NOT old.forgotten_at)
BEGIN
  INSERT INTO learned_change (tenant_id, agent_id, memory_id) VALUES (new.tenant_id, new.agent_id, new.id);
END;

-- Somebody has stored the same in the same words: it is theirs now, and follows nothing.
CREATE TRIGGER long_term_memory_not_learned AFTER UPDATE OF learned ON long_term_memory
WHEN old.learned IS NOT NULL AND new.learned IS NULL
BEGIN
  DELETE FROM memory_source
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND memory_id = new.id;
  DELETE FROM claim
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND memory_id = new.id AND substr(key, 1, 6) = 'topic:';
  UPDATE long_term_memory SET superseded_at = NULL, superseded_with = NULL,
    forgotten_at = iif(forgotten_with IS NULL, forgotten_at, NULL), forgotten_with = NULL
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.id;
END;

CREATE TRIGGER long_term_memory_unlearned AFTER DELETE ON long_term_memory WHEN old.learned IS NOT NULL
BEGIN
  DELETE FROM memory_source
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
END;

-- Whether a model is to read the messages of an ingestion, and since when its passes are planned.
ALTER TABLE ingestion ADD COLUMN learns INTEGER NOT NULL DEFAULT 0 CHECK (learns IN (0, 1));
ALTER TABLE ingestion ADD COLUMN planned_at INTEGER;

-- The passes of an ingestion: parts of its conversation, each of which a model reads at once.
CREATE TABLE pass (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  ingestion_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('extract', 'detail')),
  -- [id, ...], in the order in which they were said.
  message_ids TEXT NOT NULL,
  -- How many of the first of them are there to understand the others.
  context INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'failed')),
  -- Why it failed, as a problem's code.
  failure TEXT,
  PRIMARY KEY (tenant_id, agent_id, ingestion_id, number)
) STRICT, WITHOUT ROWID;

-- The memories that a model proposed, and what became of each.
CREATE TABLE proposal (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  ingestion_id TEXT NOT NULL,
  -- The first 128 bits of SHA-256 over its content as it was proposed, in hex.
  id TEXT NOT NULL CHECK (length(id) = 32),
  pass INTEGER NOT NULL,
  content TEXT NOT NULL,
  message_ids TEXT NOT NULL,
  happened_at INTEGER,
  type TEXT CHECK (type IN ('fact', 'instruction', 'event', 'task')),
  topic TEXT,
  search_queries TEXT,
  state TEXT NOT NULL CHECK (state IN ('proposed', 'verified', 'learned', 'known', 'dropped', 'failed')),
  -- What it said before it was corrected; NULL: it was not.
  corrected_from TEXT,
  -- Why it was corrected or dropped, or the code of the problem by which it failed.
  reason TEXT,
  memory_id TEXT,
  PRIMARY KEY (tenant_id, agent_id, ingestion_id, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ingestion_unlearned AFTER DELETE ON ingestion
BEGIN
  DELETE FROM pass
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
  DELETE FROM proposal
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND ingestion_id = old.id;
END;

-- What a tenant's calls of models have cost on a day, in days since the epoch (UTC).
CREATE TABLE model_spend (
  tenant_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  stage TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, day, stage)
) STRICT, WITHOUT ROWID;
