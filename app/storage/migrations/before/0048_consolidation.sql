-- What the weekly consolidation has merged (docs/tiers.md). One run of it over one tenant:
CREATE TABLE consolidation (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  -- NULL: it is under way, and goes on behind the agent ``after``.
  finished_at INTEGER,
  undone_at INTEGER,
  after TEXT NOT NULL DEFAULT '',
  memories INTEGER NOT NULL DEFAULT 0,
  facts INTEGER NOT NULL DEFAULT 0,
  chains INTEGER NOT NULL DEFAULT 0,
  tasks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

-- A memory that another one restates, which is kept in its place. undone: the merge has no effect, and is not made again.
CREATE TABLE consolidated (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  kept_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memory', 'fact')),
  undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1)),
  -- When the other one was said, where that was after what is kept; NULL: what is kept is the later one.
  said_again_at INTEGER,
  consolidation_id TEXT NOT NULL,
  consolidated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, other_id, kept_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidated_kept ON consolidated (tenant_id, agent_id, kept_id);
CREATE INDEX consolidated_again ON consolidated (tenant_id, agent_id, said_again_at) WHERE said_again_at IS NOT NULL;
CREATE INDEX consolidated_of ON consolidated (tenant_id, consolidation_id, undone);

-- The end of a chain of superseded memories: other_id leads to via_id, and that over any others to kept_id.
CREATE TABLE shortcut (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  kept_id TEXT NOT NULL,
  via_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, other_id, kept_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shortcut_kept ON shortcut (tenant_id, agent_id, kept_id);
CREATE INDEX shortcut_via ON shortcut (tenant_id, agent_id, via_id);

-- Who has told a fact in the words of the memory, and how sure of it: run, session or author, the first that is known.
CREATE TABLE fact_source (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  source TEXT NOT NULL,
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  written_by TEXT,
  PRIMARY KEY (tenant_id, agent_id, memory_id, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_source_named ON fact_source (tenant_id, source);
CREATE INDEX fact_source_writer ON fact_source (tenant_id, written_by) WHERE written_by IS NOT NULL;

CREATE INDEX relation_restates ON relation (tenant_id, agent_id, newer_id, older_id)
WHERE name = 'restates' AND effect IS NULL;

-- A merge is two claims of a key of its own, as a relation with an effect is (0042_relations.sql): "~=". What is kept counts
-- as said once more when the other one was, where it was said before it.
CREATE TRIGGER consolidated_placed AFTER INSERT ON consolidated
WHEN NOT new.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  UPDATE long_term_memory SET statements_read = 0
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id IN (new.other_id, new.kept_id)
    AND statements_read IS NULL;
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~=' || new.other_id || ':' || new.kept_id,
    iif(memory.id = other.id OR (memory.happened_at, memory.id) > (other.happened_at, other.id), memory.happened_at,
      other.happened_at + 1),
    memory.id, memory.id, memory.id = other.id
  FROM long_term_memory AS other CROSS JOIN long_term_memory AS kept CROSS JOIN long_term_memory AS memory
  WHERE other.id = new.other_id AND +other.tenant_id = new.tenant_id AND +other.agent_id = new.agent_id
    AND kept.id = new.kept_id AND +kept.tenant_id = new.tenant_id AND +kept.agent_id = new.agent_id
    AND memory.id IN (other.id, kept.id)
  ON CONFLICT DO NOTHING;
END;

-- As if it had never been made. What is kept goes first: the other one holds again.
CREATE TRIGGER consolidated_removed AFTER DELETE ON consolidated
WHEN NOT old.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.other_id AND via_id = old.kept_id OR via_id = old.other_id);
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id;
END;

CREATE TRIGGER consolidated_undone AFTER UPDATE OF undone ON consolidated
WHEN new.undone AND NOT old.undone
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.other_id AND via_id = old.kept_id OR via_id = old.other_id);
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~=' || old.other_id || ':' || old.kept_id;
END;

-- A shortcut is two claims as well ("~>"), neither of which is all of its memory: it hides nothing by itself.
CREATE TRIGGER shortcut_placed AFTER INSERT ON shortcut
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
  SELECT memory.tenant_id, memory.agent_id, '~>' || new.other_id || ':' || new.kept_id,
    iif(memory.id = other.id OR (memory.happened_at, memory.id) > (other.happened_at, other.id), memory.happened_at,
      other.happened_at + 1),
    memory.id, memory.id, FALSE
  FROM long_term_memory AS other CROSS JOIN long_term_memory AS kept CROSS JOIN long_term_memory AS memory
  WHERE other.id = new.other_id AND +other.tenant_id = new.tenant_id AND +other.agent_id = new.agent_id
    AND kept.id = new.kept_id AND +kept.tenant_id = new.tenant_id AND +kept.agent_id = new.agent_id
    AND memory.id IN (other.id, kept.id)
  ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER shortcut_removed AFTER DELETE ON shortcut
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~>' || old.other_id || ':' || old.kept_id AND memory_id = old.kept_id;
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND key = '~>' || old.other_id || ':' || old.kept_id;
END;

-- What was said again after something that takes the place of what was said before holds by itself: else each of the
-- three would lead to another one of them.
CREATE TRIGGER relation_contradicts AFTER INSERT ON relation
WHEN new.effect IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  DELETE FROM consolidated
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND NOT undone AND said_again_at >= (
    SELECT newer.happened_at FROM long_term_memory AS newer
    WHERE newer.id = new.newer_id AND +newer.tenant_id = new.tenant_id
  ) AND (
    SELECT (kept.happened_at, kept.id) < (newer.happened_at, newer.id)
    FROM long_term_memory AS kept CROSS JOIN long_term_memory AS newer
    WHERE kept.id = consolidated.kept_id AND +kept.tenant_id = new.tenant_id
      AND newer.id = new.newer_id AND +newer.tenant_id = new.tenant_id
  );
END;

-- A chain that is broken has no shortcuts: those over the link, and those to behind it.
CREATE TRIGGER relation_unlinks AFTER DELETE ON relation
WHEN old.effect = 'hides'
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.older_id AND via_id = old.newer_id OR via_id = old.older_id OR kept_id = old.newer_id);
END;

CREATE TRIGGER long_term_memory_unmerged AFTER DELETE ON long_term_memory
WHEN NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = old.tenant_id AND placed.carried)
BEGIN
  DELETE FROM shortcut WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.id OR via_id = old.id OR kept_id = old.id);
  DELETE FROM consolidated WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id
    AND (other_id = old.id OR kept_id = old.id);
  DELETE FROM fact_source WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0048_consolidation.sql', '0037_compatibility.sql');
