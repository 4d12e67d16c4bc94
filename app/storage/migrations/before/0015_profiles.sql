-- The constrained memory API (docs/constrained-api.md): what a memory is, what was forgotten, messages on their way to
-- becoming memories, and the names under which profiles are asked for.

-- What it says, as far as rules know; NULL: its statements were not read yet (0014_what_holds.sql).
ALTER TABLE long_term_memory ADD COLUMN type TEXT CHECK (type IN ('fact', 'instruction', 'event', 'task'));

-- When it was forgotten: no recall finds it, and that can be taken back. NULL: it is remembered.
ALTER TABLE long_term_memory ADD COLUMN forgotten_at INTEGER;
-- The credential that had it forgotten: undoing what it did takes that back too.
ALTER TABLE long_term_memory ADD COLUMN forgotten_by TEXT;
CREATE INDEX long_term_memory_forgotten ON long_term_memory (tenant_id, forgotten_by, id) WHERE forgotten_by IS NOT NULL;

-- Of a memory that is a message: the first 128 bits of SHA-256 over session, role and content, in hex. Ingesting the
-- message again finds it by this.
ALTER TABLE long_term_memory ADD COLUMN message_id TEXT;
CREATE INDEX long_term_memory_message ON long_term_memory (tenant_id, agent_id, message_id) WHERE message_id IS NOT NULL;

-- Messages that were taken and are no memories yet.
CREATE TABLE message (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) = 32),
  ingestion_id TEXT NOT NULL,
  -- Its place among the messages of its ingestion, from 0.
  place INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
  content TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  -- Of the memory that it is to become.
  content_hash TEXT NOT NULL,
  PRIMARY KEY (tenant_id, agent_id, id)
) STRICT;
CREATE INDEX message_of_session ON message (tenant_id, agent_id, session_id, said_at, place);

-- Ingestions: the operations that make memories of messages. One works on a session at a time, as long as its lease lasts.
CREATE TABLE ingestion (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  -- Since when all its messages are there; NULL: they are still being taken, or whoever took them stopped.
  staged_at INTEGER,
  -- Messages that were sent, and how many of them were there already.
  messages INTEGER NOT NULL,
  known INTEGER NOT NULL DEFAULT 0,
  -- Memories made so far.
  written INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER,
  -- Why it stopped for good, as a problem's code; NULL: it did not.
  failure TEXT,
  -- Who sent it: what the memories are signed with, and for whom that credential may speak, [name, ...]; NULL: anybody.
  written_by TEXT,
  written_through TEXT NOT NULL,
  issued_at INTEGER,
  speakers TEXT,
  -- Who works on it, and until when that holds. With no holder it is when to go on: at once, or after an outage.
  lease_holder TEXT,
  lease_expires_at INTEGER
) STRICT;
CREATE INDEX ingestion_of_tenant ON ingestion (tenant_id, agent_id, id);
CREATE INDEX ingestion_unfinished ON ingestion (tenant_id, agent_id, session_id) WHERE finished_at IS NULL;

-- What an ingestion writes goes through here first (app/storage/ingestions.py): nothing is written of one that was erased,
-- undone or taken over by somebody else since its messages were read.
CREATE VIEW ingestion_step AS SELECT NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS holder;

CREATE TRIGGER ingestion_step_checked INSTEAD OF INSERT ON ingestion_step
BEGIN
  SELECT RAISE(ABORT, 'not_held') WHERE NOT EXISTS (
    SELECT 1 FROM ingestion
    WHERE ingestion.tenant_id = new.tenant_id AND ingestion.agent_id = new.agent_id AND ingestion.id = new.id
      AND ingestion.lease_holder = new.holder AND ingestion.finished_at IS NULL
  );
END;

-- Cloudflare's Agent Memory names a store by a namespace and a profile. Each pair is one agent.
CREATE TABLE namespace (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 32),
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX profile_by_name ON profile (tenant_id, namespace, name);

-- Which tools an agent is given: recall_memory and store_memory, or remember, recall, forget and list.
ALTER TABLE agent ADD COLUMN tools TEXT NOT NULL DEFAULT 'recall_store' CHECK (tools IN ('recall_store', 'profile'));

-- Messages that an erasure has erased before they were memories.
ALTER TABLE erasure ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;

-- A profile's memories of one type, newest first. Most are events, which are found without it.
CREATE INDEX long_term_memory_typed ON long_term_memory (tenant_id, agent_id, type, created_at DESC) WHERE type <> 'event';
