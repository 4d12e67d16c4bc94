-- What is kept beside memories is counted and has bounds: idempotency keys, audit rows, receipts of erasures.

-- For the count of a tenant's rows, and for those that are too old.
CREATE INDEX audit_of_tenant ON audit (tenant_id, created_at);
CREATE INDEX erasure_finished ON erasure (tenant_id, accepted_at) WHERE receipt IS NOT NULL;

-- Every store asks for the erasures under way of its scope, however many have finished.
CREATE INDEX erasure_running ON erasure (tenant_id, agent_id) WHERE receipt IS NULL;

-- How many keys an agent has, kept right by the triggers below in the statement that changes them.
CREATE TABLE idempotency_count (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  keys INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, agent_id)
) STRICT, WITHOUT ROWID;

INSERT INTO idempotency_count (tenant_id, agent_id, keys)
SELECT tenant_id, agent_id, count(*) FROM idempotency GROUP BY tenant_id, agent_id;

CREATE TRIGGER idempotency_counted AFTER INSERT ON idempotency
BEGIN
  INSERT INTO idempotency_count (tenant_id, agent_id, keys) VALUES (new.tenant_id, new.agent_id, 1)
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET keys = idempotency_count.keys + 1;
END;

CREATE TRIGGER idempotency_uncounted AFTER DELETE ON idempotency
BEGIN
  UPDATE idempotency_count SET keys = keys - 1 WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id;
  DELETE FROM idempotency_count WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND keys <= 0;
END;

-- An agent has at most 10,000 (app/domain/limits.py): beyond it the oldest thousand go, so that they are looked for
-- once in a thousand stores.
CREATE TRIGGER idempotency_bounded AFTER UPDATE OF keys ON idempotency_count WHEN new.keys > 10000
BEGIN
  DELETE FROM idempotency
  WHERE tenant_id = new.tenant_id AND agent_id = new.agent_id AND created_at < (
    SELECT oldest.created_at FROM idempotency AS oldest
    WHERE oldest.tenant_id = new.tenant_id AND oldest.agent_id = new.agent_id
    ORDER BY oldest.created_at LIMIT 1 OFFSET 1000
  );
END;
