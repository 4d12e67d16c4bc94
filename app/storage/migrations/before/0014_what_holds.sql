-- What holds now. A memory that states the value of a key ("user/lives_in" is "oslo") has a claim. The claims of a key,
-- in the order in which they were said, make versions: neighbours of one value are one version, and each version but
-- the last is superseded by the one after it. So a chain cannot fork, and does not depend on the order of arrival.
CREATE TABLE claim (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  happened_at INTEGER NOT NULL,
  memory_id TEXT NOT NULL,
  value TEXT NOT NULL,
  -- Whether the memory says nothing else, so that it is superseded with its claim.
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),
  -- Whether it begins a version.
  opens INTEGER NOT NULL DEFAULT 0 CHECK (opens IN (0, 1)),
  -- The memory whose claim begins the next version, and when that was said; NULL in the version that holds.
  superseded_by TEXT,
  superseded_at INTEGER,
  PRIMARY KEY (tenant_id, agent_id, key, happened_at, memory_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX claim_that_holds ON claim (tenant_id, agent_id, key) WHERE opens AND superseded_by IS NULL;
CREATE INDEX claim_of_memory ON claim (tenant_id, agent_id, memory_id);

-- When what replaced it was said; NULL: it holds.
ALTER TABLE long_term_memory ADD COLUMN superseded_at INTEGER;

-- Whether its statements were read; NULL: it is older than claims, or its run stopped before them. A job reads it again.
ALTER TABLE long_term_memory ADD COLUMN statements_read INTEGER;
CREATE INDEX long_term_memory_unread ON long_term_memory (id) WHERE statements_read IS NULL;

CREATE TRIGGER claim_placed AFTER INSERT ON claim
BEGIN
  UPDATE long_term_memory SET statements_read = 1
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id AND statements_read IS NULL;
  -- The version before it ends with it, where that has another value.
  UPDATE claim SET superseded_by = new.memory_id, superseded_at = new.happened_at
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key AND value <> new.value
    AND (happened_at, memory_id) < (new.happened_at, new.memory_id)
    AND (happened_at, memory_id) >= (
      SELECT opener.happened_at, opener.memory_id FROM claim AS opener
      WHERE opener.tenant_id = new.tenant_id AND opener.agent_id = new.agent_id AND opener.key = new.key
        AND opener.opens AND (opener.happened_at, opener.memory_id) < (new.happened_at, new.memory_id)
      ORDER BY opener.happened_at DESC, opener.memory_id DESC LIMIT 1
    );
  UPDATE claim SET opens = (value <> new.value)
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND (happened_at, memory_id) = (
      SELECT later.happened_at, later.memory_id FROM claim AS later
      WHERE later.tenant_id = new.tenant_id AND later.agent_id = new.agent_id AND later.key = new.key
        AND (later.happened_at, later.memory_id) > (new.happened_at, new.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    );
  UPDATE claim SET
    opens = new.value IS NOT (
      SELECT earlier.value FROM claim AS earlier
      WHERE earlier.tenant_id = new.tenant_id AND earlier.agent_id = new.agent_id AND earlier.key = new.key
        AND (earlier.happened_at, earlier.memory_id) < (new.happened_at, new.memory_id)
      ORDER BY earlier.happened_at DESC, earlier.memory_id DESC LIMIT 1
    ),
    (superseded_by, superseded_at) = (
      SELECT iif(later.value = new.value, later.superseded_by, later.memory_id),
        iif(later.value = new.value, later.superseded_at, later.happened_at)
      FROM claim AS later
      WHERE later.tenant_id = new.tenant_id AND later.agent_id = new.agent_id AND later.key = new.key
        AND (later.happened_at, later.memory_id) > (new.happened_at, new.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    )
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND happened_at = new.happened_at AND memory_id = new.memory_id;
  -- Of a key at most 500 are kept: what came before them stays superseded for good.
  DELETE FROM claim
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND key = new.key
    AND (happened_at, memory_id) <= (
      SELECT old.happened_at, old.memory_id FROM claim AS old
      WHERE old.tenant_id = new.tenant_id AND old.agent_id = new.agent_id AND old.key = new.key
      ORDER BY old.happened_at DESC, old.memory_id DESC LIMIT 1 OFFSET 500
    );
END;

-- As if it had never been said.
CREATE TRIGGER claim_removed AFTER DELETE ON claim
BEGIN
  UPDATE claim SET opens = value IS NOT (
    SELECT earlier.value FROM claim AS earlier
    WHERE earlier.tenant_id = old.tenant_id AND earlier.agent_id = old.agent_id AND earlier.key = old.key
      AND (earlier.happened_at, earlier.memory_id) < (old.happened_at, old.memory_id)
    ORDER BY earlier.happened_at DESC, earlier.memory_id DESC LIMIT 1
  )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND key = old.key
    AND (happened_at, memory_id) = (
      SELECT later.happened_at, later.memory_id FROM claim AS later
      WHERE later.tenant_id = old.tenant_id AND later.agent_id = old.agent_id AND later.key = old.key
        AND (later.happened_at, later.memory_id) > (old.happened_at, old.memory_id)
      ORDER BY later.happened_at, later.memory_id LIMIT 1
    );
  UPDATE claim SET (superseded_by, superseded_at) = (
    SELECT iif(later.value = claim.value, later.superseded_by, later.memory_id),
      iif(later.value = claim.value, later.superseded_at, later.happened_at)
    FROM claim AS later
    WHERE later.tenant_id = old.tenant_id AND later.agent_id = old.agent_id AND later.key = old.key
      AND (later.happened_at, later.memory_id) > (old.happened_at, old.memory_id)
    ORDER BY later.happened_at, later.memory_id LIMIT 1
  )
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND key = old.key AND superseded_by = old.memory_id
    AND (happened_at, memory_id) < (old.happened_at, old.memory_id);
END;

-- The content of what is superseded may be stored once more: "Rome, Oslo, Rome again" is three memories. So its hash makes
-- room, unless it is the hash of a moment too: what was said then, was said once. It comes back where it is still free,
-- or else once it is: of those of one content that hold, one has it.
ALTER TABLE long_term_memory ADD COLUMN identity TEXT;
CREATE INDEX long_term_memory_identity ON long_term_memory (tenant_id, agent_id, identity) WHERE identity IS NOT NULL;

CREATE TRIGGER claim_superseded AFTER UPDATE OF superseded_at ON claim
WHEN new.whole AND new.superseded_at IS NOT old.superseded_at
BEGIN
  UPDATE long_term_memory SET superseded_at = new.superseded_at
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND id = new.memory_id;
END;

CREATE TRIGGER long_term_memory_superseded AFTER UPDATE OF superseded_at ON long_term_memory
WHEN new.superseded_at IS NOT NULL AND new.occurred_at IS NULL AND new.identity IS NULL
BEGIN
  UPDATE long_term_memory
  SET identity = content_hash, content_hash = substr(content_hash, 1, 12) || lower(hex(id))
  WHERE id = new.id AND tenant_id = new.tenant_id;
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE tenant_id = new.tenant_id AND id = (
    SELECT other.id FROM long_term_memory AS other
    WHERE other.tenant_id = new.tenant_id AND other.agent_id = new.agent_id AND other.identity = new.content_hash
      AND other.superseded_at IS NULL ORDER BY other.id LIMIT 1
  );
END;

CREATE TRIGGER long_term_memory_restored AFTER UPDATE OF superseded_at ON long_term_memory
WHEN new.superseded_at IS NULL AND new.identity IS NOT NULL
BEGIN
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE id = new.id AND tenant_id = new.tenant_id AND NOT EXISTS (
    SELECT 1 FROM long_term_memory AS other
    WHERE other.tenant_id = new.tenant_id AND other.agent_id = new.agent_id AND other.content_hash = new.identity
  );
END;

CREATE TRIGGER long_term_memory_unclaimed AFTER DELETE ON long_term_memory
BEGIN
  DELETE FROM claim WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND memory_id = old.id;
  UPDATE long_term_memory SET content_hash = identity, identity = NULL
  WHERE tenant_id = old.tenant_id AND id = (
    SELECT other.id FROM long_term_memory AS other
    WHERE other.tenant_id = old.tenant_id AND other.agent_id = old.agent_id AND other.identity = old.content_hash
      AND other.superseded_at IS NULL ORDER BY other.id LIMIT 1
  ) AND NOT EXISTS (
    SELECT 1 FROM long_term_memory AS taken
    WHERE taken.tenant_id = old.tenant_id AND taken.agent_id = old.agent_id AND taken.content_hash = old.content_hash
  );
END;
