-- Memories may expire, agents have settings, and what each tenant and agent holds is counted and limited.
-- Times are milliseconds since the Unix epoch; in usage and quota the agent_id '' stands for the tenant as a whole.

ALTER TABLE long_term_memory ADD COLUMN expires_at INTEGER;

CREATE INDEX long_term_memory_of_tenant ON long_term_memory (tenant_id, created_at DESC, id DESC);
CREATE INDEX long_term_memory_expiry ON long_term_memory (expires_at) WHERE expires_at IS NOT NULL;

-- What an administrator of the tenant has set for an agent.
CREATE TABLE agent (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  -- How long its memories live where a store does not say; NULL: for ever.
  retention_seconds INTEGER CHECK (retention_seconds IS NULL OR retention_seconds > 0),
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- What the operator has set in place of the defaults; NULL: the default holds.
CREATE TABLE quota (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memories INTEGER CHECK (memories IS NULL OR memories >= 0),
  bytes INTEGER CHECK (bytes IS NULL OR bytes >= 0),
  stores_per_minute INTEGER CHECK (stores_per_minute IS NULL OR stores_per_minute >= 0),
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

-- What is there, kept right by the triggers below in the statement that changes it; and the stores of a minute.
CREATE TABLE usage (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  memories INTEGER NOT NULL DEFAULT 0,
  -- Of content and metadata, in UTF-8.
  bytes INTEGER NOT NULL DEFAULT 0,
  -- Minutes since the epoch, and how many stores were let in during that one.
  minute INTEGER NOT NULL DEFAULT 0,
  stores INTEGER NOT NULL DEFAULT 0,
  -- The store that was let in last: the other statements of its run look for it.
  ticket TEXT,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

INSERT INTO usage (tenant_id, agent_id, memories, bytes)
SELECT tenant_id, agent_id, count(*), sum(length(CAST(content AS BLOB)) + length(CAST(metadata AS BLOB)))
FROM long_term_memory GROUP BY tenant_id, agent_id;

INSERT INTO usage (tenant_id, agent_id, memories, bytes)
SELECT tenant_id, '', sum(memories), sum(bytes) FROM usage WHERE TRUE GROUP BY tenant_id;

CREATE TRIGGER long_term_memory_counted AFTER INSERT ON long_term_memory
BEGIN
  INSERT INTO usage (tenant_id, agent_id, memories, bytes)
  SELECT new.tenant_id, value, 1, length(CAST(new.content AS BLOB)) + length(CAST(new.metadata AS BLOB))
  FROM json_each(json_array(new.agent_id, '')) WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    memories = usage.memories + 1, bytes = usage.bytes + excluded.bytes;
END;

CREATE TRIGGER long_term_memory_recounted AFTER UPDATE OF metadata ON long_term_memory
WHEN old.metadata <> new.metadata
BEGIN
  UPDATE usage
  SET bytes = usage.bytes + length(CAST(new.metadata AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = new.tenant_id AND usage.agent_id IN (new.agent_id, '');
END;

CREATE TRIGGER long_term_memory_uncounted AFTER DELETE ON long_term_memory
BEGIN
  UPDATE usage
  SET memories = usage.memories - 1,
    bytes = usage.bytes - length(CAST(old.content AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = old.tenant_id AND usage.agent_id IN (old.agent_id, '');
END;

-- Kinds of events are the code's affair.
CREATE TABLE audit_next (
  number INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  agent_id TEXT,
  memory_id TEXT,
  event TEXT NOT NULL CHECK (length(event) BETWEEN 1 AND 32),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  created_at INTEGER NOT NULL
) STRICT;

INSERT INTO audit_next (number, tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT number, tenant_id, agent_id, memory_id, event, detail, created_at FROM audit;

DROP TABLE audit;

ALTER TABLE audit_next RENAME TO audit;
