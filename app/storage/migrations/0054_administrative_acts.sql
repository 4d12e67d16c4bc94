-- What administrators and operators do: a table of its own, which no erasure touches and which holds no content.
CREATE TABLE administrative_act (
  tenant_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  id TEXT NOT NULL CHECK (length(id) = 26),
  act TEXT NOT NULL CHECK (length(act) BETWEEN 1 AND 32),
  outcome TEXT NOT NULL CHECK (outcome IN ('begun', 'done', 'failed', 'refused')),
  code TEXT,
  channel TEXT NOT NULL,
  credential_id TEXT,
  operator TEXT,
  request_id TEXT,
  subject TEXT NOT NULL CHECK (json_valid(subject)),
  counts TEXT NOT NULL CHECK (json_valid(counts)),
  attempts INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,
  ended_at INTEGER,
  signature TEXT,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX administrative_act_by_number ON administrative_act (tenant_id, number);
CREATE INDEX administrative_act_newest ON administrative_act (tenant_id, begun_at);
CREATE INDEX administrative_act_of_name ON administrative_act (tenant_id, act, begun_at);
CREATE INDEX administrative_act_of_credential ON administrative_act (tenant_id, credential_id, begun_at);
CREATE INDEX administrative_act_of_outcome ON administrative_act (tenant_id, outcome, begun_at);
INSERT INTO schema_compatibility (name, oldest) VALUES ('0054_administrative_acts.sql', '0037_compatibility.sql');
