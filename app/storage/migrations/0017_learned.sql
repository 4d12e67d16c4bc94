-- What a language model makes of messages (docs/constrained-api.md).

-- Of a memory that a model made of messages: {"message_ids": [...], "topic": ..., "search_queries": [...]}. NULL: it is in
-- the words of whoever stored it.
ALTER TABLE long_term_memory ADD COLUMN learned TEXT;

-- The messages that such memories come from.
CREATE TABLE memory_source (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, message_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_source_of_memory ON memory_source (tenant_id, agent_id, memory_id);

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

-- What a tenant's calls of models have cost on a day, in days since the epoch (UTC).
CREATE TABLE model_spend (
  tenant_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  stage TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, day, stage)
) STRICT, WITHOUT ROWID;
