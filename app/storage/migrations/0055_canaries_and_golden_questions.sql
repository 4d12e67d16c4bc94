-- What the operator asks before an embedding model is switched, and which memories have to be found: the line of the
-- question as JSON (docs/evaluation.md).
CREATE TABLE golden_question (
  tenant_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  question TEXT NOT NULL CHECK (json_valid(question) AND length(CAST(question AS BLOB)) <= 65536),
  PRIMARY KEY (tenant_id, agent_id, id)
) STRICT, WITHOUT ROWID;

-- Nothing of the agent that has the canaries counts in a quota or in the usage.
DROP TRIGGER long_term_memory_counted;
CREATE TRIGGER long_term_memory_counted AFTER INSERT ON long_term_memory
WHEN new.agent_id <> 'memory-gateway:canary'
BEGIN
  INSERT INTO usage (tenant_id, agent_id, memories, bytes)
  SELECT new.tenant_id, value, 1, length(CAST(new.content AS BLOB)) + length(CAST(new.metadata AS BLOB))
  FROM json_each(json_array(new.agent_id, '')) WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    memories = usage.memories + 1, bytes = usage.bytes + excluded.bytes;
END;

DROP TRIGGER long_term_memory_recounted;
CREATE TRIGGER long_term_memory_recounted AFTER UPDATE OF metadata ON long_term_memory
WHEN old.metadata <> new.metadata AND new.agent_id <> 'memory-gateway:canary'
BEGIN
  UPDATE usage
  SET bytes = usage.bytes + length(CAST(new.metadata AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = new.tenant_id AND usage.agent_id IN (new.agent_id, '');
END;

DROP TRIGGER long_term_memory_uncounted;
CREATE TRIGGER long_term_memory_uncounted AFTER DELETE ON long_term_memory
WHEN old.agent_id <> 'memory-gateway:canary'
BEGIN
  UPDATE usage
  SET memories = usage.memories - 1,
    bytes = usage.bytes - length(CAST(old.content AS BLOB)) - length(CAST(old.metadata AS BLOB))
  WHERE usage.tenant_id = old.tenant_id AND usage.agent_id IN (old.agent_id, '');
END;

DROP TRIGGER usage_changed;
CREATE TRIGGER usage_changed INSTEAD OF INSERT ON usage_change
WHEN new.agent_id <> 'memory-gateway:canary'
BEGIN
  INSERT INTO usage (tenant_id, agent_id, bytes, working_bytes, episodic_bytes, procedural_bytes, shared_context_bytes,
    audit_bytes, blobs_bytes, ingestion_bytes)
  SELECT new.tenant_id, scope.agent_id, new.bytes,
    iif(new.tier = 'working', new.bytes, 0),
    iif(new.tier = 'episodic', new.bytes, 0),
    iif(new.tier = 'procedural', new.bytes, 0),
    iif(new.tier = 'shared_context', new.bytes, 0),
    iif(new.tier = 'audit', new.bytes, 0),
    iif(new.tier = 'blobs', new.bytes, 0),
    iif(new.tier = 'ingestion', new.bytes, 0)
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope WHERE TRUE
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET bytes = usage.bytes + excluded.bytes,
    working_bytes = usage.working_bytes + excluded.working_bytes,
    episodic_bytes = usage.episodic_bytes + excluded.episodic_bytes,
    procedural_bytes = usage.procedural_bytes + excluded.procedural_bytes,
    shared_context_bytes = usage.shared_context_bytes + excluded.shared_context_bytes,
    audit_bytes = usage.audit_bytes + excluded.audit_bytes,
    blobs_bytes = usage.blobs_bytes + excluded.blobs_bytes,
    ingestion_bytes = usage.ingestion_bytes + excluded.ingestion_bytes;
END;

DROP TRIGGER write_admission_checked;
CREATE TRIGGER write_admission_checked INSTEAD OF INSERT ON write_admission
BEGIN
  SELECT CASE
    WHEN gate.revoked THEN RAISE(ABORT, 'revoked')
    WHEN gate.erasing THEN RAISE(ABORT, 'erasing')
    WHEN gate.deleted THEN RAISE(ABORT, 'deleted')
    WHEN gate.key_used THEN RAISE(ABORT, 'key_used')
    -- A run whose end was not known and that is made again goes through once more; where it may not, it was stored.
    WHEN gate.stored AND (gate.disabled OR gate.config_changed OR gate.over) THEN RAISE(ABORT, 'stored')
    WHEN gate.taken THEN RAISE(ABORT, 'taken')
    WHEN gate.disabled THEN RAISE(ABORT, 'disabled')
    WHEN gate.config_changed THEN RAISE(ABORT, 'config_changed')
    WHEN gate.differs THEN RAISE(ABORT, 'differs')
    WHEN gate.over THEN RAISE(ABORT, 'quota_exceeded')
  END
  FROM (
    SELECT
      -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
      EXISTS (
        SELECT 1 FROM revocation
        WHERE revocation.tenant_id = new.tenant_id AND (
          revocation.credential_id = new.written_by
          OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
        )
      ) AS revoked,
      EXISTS (
        SELECT 1 FROM erasure
        WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
          AND erasure.receipt IS NULL
      ) AS erasing,
      -- A memory that was stored by a run which is made again may have been deleted in between, under the same id.
      EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.tenant_id = new.tenant_id AND outbox.agent_id = new.agent_id AND outbox.id = new.id
          AND outbox.operation = 'delete' AND outbox.revision > new.undoes
      ) AS deleted,
      EXISTS (
        SELECT 1 FROM idempotency AS used
        WHERE used.tenant_id = new.tenant_id AND used.agent_id = new.agent_id AND used.key = new.key
          AND used.created_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 24 * 3600 * 1000
      ) AS key_used,
      EXISTS (
        SELECT 1 FROM long_term_memory AS own
        WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.content_hash = new.content_hash
          AND own.id = new.id
      ) AS stored,
      -- An import's line is new: neither its id, which is unique over all tenants, nor its content is another memory's.
      NOT new.is_store AND (
        EXISTS (
          SELECT 1 FROM long_term_memory AS other
          WHERE other.id = new.id
            AND (other.tenant_id, other.agent_id, other.content_hash) <> (new.tenant_id, new.agent_id, new.content_hash)
        )
        OR EXISTS (
          SELECT 1 FROM long_term_memory AS holder
          WHERE holder.tenant_id = new.tenant_id AND holder.agent_id = new.agent_id
            AND holder.content_hash = new.content_hash AND holder.id <> new.id
        )
      ) AS taken,
      new.is_store AND EXISTS (
        SELECT 1 FROM agent
        WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id AND NOT agent.long_term_enabled
      ) AS disabled,
      (SELECT in_use.index_name FROM embedding_in_use AS in_use) IS NOT new.active
      OR (
        SELECT config.index_name FROM embedding_config AS config
        WHERE config.index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
      ) IS NOT new.shadow AS config_changed,
      -- A store changes an existing memory's metadata only if it has read them before (app/services/memories/write.py).
      new.is_store AND EXISTS (
        SELECT 1 FROM long_term_memory AS held
        WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.content_hash = new.content_hash
          AND held.metadata <> new.metadata AND (
            held.metadata IS NOT new.merged_from
            OR new.was_expired AND (held.expires_at IS NULL OR held.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
          )
      ) AS differs,
      -- The same content again is no new memory: only the growth of its metadata counts. A canary counts nowhere.
      new.agent_id <> 'memory-gateway:canary' AND EXISTS (
        SELECT 1 FROM (
          SELECT quota.memories AS memories_set, quota.bytes AS bytes_set, quota.stores_per_minute AS stores_set,
            scope.value AS defaults, present.id AS present_id,
            coalesce(usage.memories, 0) + (new.before -> scope.key ->> 0) AS memories,
            coalesce(usage.bytes, 0) + (new.before -> scope.key ->> 1) AS bytes,
            iif(
              usage.minute = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, usage.stores, 0
            ) AS stores,
            iif(present.id IS NULL, new.content_bytes, 0) + length(CAST(new.metadata AS BLOB))
              - coalesce(length(CAST(present.metadata AS BLOB)), 0) AS growth
          FROM json_each(new.limits) AS scope
          LEFT JOIN quota
            ON quota.tenant_id = new.tenant_id AND quota.agent_id = iif(scope.key = 'agent', new.agent_id, '')
          LEFT JOIN usage
            ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
          LEFT JOIN long_term_memory AS present
            ON present.tenant_id = new.tenant_id AND present.agent_id = new.agent_id
            AND present.content_hash = new.content_hash
        ) AS of_scope
        WHERE present_id IS NULL AND memories + 1 > coalesce(memories_set, defaults ->> 0)
          OR growth > 0 AND bytes + growth > coalesce(bytes_set, defaults ->> 1)
          OR new.is_store AND present_id IS NOT new.id AND stores + 1 > coalesce(stores_set, defaults ->> 2)
            AND NOT EXISTS (
              SELECT 1 FROM usage AS counted
              WHERE counted.tenant_id = new.tenant_id AND counted.agent_id = new.agent_id AND counted.ticket = new.id
            )
      ) AS over
  ) AS gate;

  -- A store is counted once, however often its run is made: usage.ticket is the store that was counted last.
  INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
  SELECT new.tenant_id, scope.value, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, 1, new.id
  FROM json_each(json_array(new.agent_id, '')) AS scope
  WHERE new.is_store AND new.agent_id <> 'memory-gateway:canary'
    AND NOT EXISTS (
      SELECT 1 FROM usage AS counted
      WHERE counted.tenant_id = new.tenant_id AND counted.agent_id = new.agent_id AND counted.ticket = new.id
    )
    AND NOT EXISTS (
      SELECT 1 FROM long_term_memory AS own
      WHERE own.tenant_id = new.tenant_id AND own.agent_id = new.agent_id AND own.id = new.id
    )
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    stores = iif(usage.minute = excluded.minute, usage.stores, 0) + 1, minute = excluded.minute, ticket = excluded.ticket;
END;

DROP TRIGGER tier_write_checked;
CREATE TRIGGER tier_write_checked INSTEAD OF INSERT ON tier_write
BEGIN
  SELECT CASE
    -- Nothing that a credential writes is let in once it is revoked, whatever replicas know.
    WHEN EXISTS (
      SELECT 1 FROM revocation
      WHERE revocation.tenant_id = new.tenant_id AND (
        revocation.credential_id = new.written_by
        OR revocation.credential_id = '' AND revocation.issued_before > new.issued_at
      )
    ) THEN RAISE(ABORT, 'revoked')
    WHEN EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.tenant_id = new.tenant_id AND (erasure.agent_id IS NULL OR erasure.agent_id = new.agent_id)
        AND erasure.receipt IS NULL
    ) THEN RAISE(ABORT, 'erasing')
    WHEN new.ticket IS NOT NULL AND new.agent_id IS NOT 'memory-gateway:canary' AND EXISTS (
      SELECT 1 FROM json_each(new.limits) AS scope
      LEFT JOIN quota ON quota.tenant_id = new.tenant_id AND quota.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      LEFT JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
      WHERE (scope.key = 'tenant' OR new.agent_id IS NOT NULL) AND usage.ticket IS NOT new.ticket
        AND iif(usage.minute = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000, usage.stores, 0)
          >= coalesce(quota.stores_per_minute, scope.value ->> 2)
    ) THEN RAISE(ABORT, 'over_stores')
  END;
  -- usage.ticket is the write that was counted last: a write whose run is made again is counted once.
  INSERT INTO usage (tenant_id, agent_id, minute, stores, ticket)
  SELECT new.tenant_id, scope.agent_id, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 60000,
    new.ticket IS NOT NULL, new.ticket
  FROM (SELECT new.agent_id AS agent_id UNION SELECT '') AS scope
  WHERE scope.agent_id IS NOT NULL AND new.limits IS NOT NULL AND new.agent_id IS NOT 'memory-gateway:canary'
  ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
    bytes_at_entry = usage.bytes,
    stores = iif(usage.minute = excluded.minute, usage.stores, 0)
      + (excluded.ticket IS NOT NULL AND usage.ticket IS NOT excluded.ticket),
    minute = excluded.minute, ticket = coalesce(excluded.ticket, usage.ticket);
END;

DROP TRIGGER tier_written_checked;
CREATE TRIGGER tier_written_checked INSTEAD OF INSERT ON tier_written
BEGIN
  SELECT iif(scope.key = 'agent', RAISE(ABORT, 'over_bytes_of_agent'), RAISE(ABORT, 'over_bytes_of_tenant'))
  FROM json_each(new.limits) AS scope
  JOIN usage ON usage.tenant_id = new.tenant_id AND usage.agent_id = iif(scope.key = 'agent', new.agent_id, '')
  LEFT JOIN quota ON quota.tenant_id = usage.tenant_id AND quota.agent_id = usage.agent_id
  WHERE usage.bytes > usage.bytes_at_entry AND new.agent_id IS NOT 'memory-gateway:canary'
    AND iif(new.may_pass, usage.bytes_at_entry + 1, usage.bytes) - new.leaving
      > coalesce(quota.bytes, scope.value ->> 1);
END;

INSERT INTO schema_compatibility (name, oldest)
VALUES ('0055_canaries_and_golden_questions.sql', '0037_compatibility.sql');
