-- How memories bear on each other, as a reader has found (docs/reader.md). What is not recorded was not found to bear.
CREATE TABLE relation (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  older_id TEXT NOT NULL,
  newer_id TEXT NOT NULL,
  -- What the newer does to the older.
  name TEXT NOT NULL CHECK (name IN ('holds', 'replaces', 'ends', 'restates')),
  -- How likely it is that the older holds no longer.
  probability REAL NOT NULL CHECK (probability BETWEEN 0 AND 1),
  -- Whether the older is not returned any more, or behind the newer; NULL: as if they had nothing to do with each other.
  effect TEXT CHECK (effect IN ('hides', 'newer_first')),
  -- Of the reader's weights.
  version TEXT NOT NULL,
  compared_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, newer_id, older_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX relation_of_older ON relation (tenant_id, agent_id, older_id);

-- A relation with an effect is two claims of a key of its own (0014_what_holds.sql), whatever came first. No rule and no
-- fact has a key that begins with "~".
CREATE TRIGGER relation_placed AFTER INSERT ON relation
WHEN new.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  -- A claim is no sign that a memory was read, where it comes of comparing it with another.
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id IN (new.older_id, new.newer_id)
    AND statements_read IS NULL;
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~' || new.older_id || ':' || new.newer_id, memory.happened_at, memory.id,
    memory.id, memory.id = new.older_id AND new.effect = 'hides'
  FROM long_term_memory AS memory
  WHERE memory.tenant_id = new.tenant_id AND memory.agent_id = new.agent_id
    AND memory.id IN (new.older_id, new.newer_id) AND 2 = (
      SELECT count(*) FROM long_term_memory AS either
      WHERE either.tenant_id = new.tenant_id AND either.agent_id = new.agent_id
        AND either.id IN (new.older_id, new.newer_id)
    )
  ON CONFLICT DO NOTHING;
END;

-- As if they had never been compared. The newer goes first: what it had superseded holds again.
CREATE TRIGGER relation_removed AFTER DELETE ON relation
WHEN old.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~' || old.older_id || ':' || old.newer_id AND memory_id = old.newer_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~' || old.older_id || ':' || old.newer_id;
END;

CREATE TRIGGER long_term_memory_unrelated AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM relation WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND newer_id = old.id;
  DELETE FROM relation WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND older_id = old.id;
END;

-- A memory that is all of several claims is superseded with the first of them.
DROP TRIGGER claim_superseded;
CREATE TRIGGER claim_superseded AFTER UPDATE OF superseded_at ON claim
WHEN new.whole AND new.superseded_at IS NOT old.superseded_at
BEGIN
  UPDATE long_term_memory SET superseded_at = (
    SELECT min(own.superseded_at) FROM claim AS own
    WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.memory_id = new.memory_id AND own.whole
  )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

-- The speakers for whom alone its author may speak, as JSON; NULL: the author may speak for anybody. It takes the place of
-- nothing that others said.
ALTER TABLE long_term_memory ADD COLUMN speakers TEXT;

-- Of statements_read: 0, where a reader is still to compare the memory with those around it. A process without a reader
-- leaves it to one that has it.
CREATE INDEX long_term_memory_uncompared ON long_term_memory (id) WHERE statements_read = 0;

-- With which weights memories were read last. after: those up to this id are read anew; NULL: all of them.
CREATE TABLE reading (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  version TEXT NOT NULL,
  after TEXT
) STRICT;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0042_relations.sql', '0037_compatibility.sql');
