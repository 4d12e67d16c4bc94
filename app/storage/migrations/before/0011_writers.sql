-- Who wrote each memory and what was changed in it by whom; credentials that hold no longer. A memory's metadata is
-- replaced only by who has read it, so that the right to replace can be asked for. Times are milliseconds since the Unix
-- epoch.

-- The id of the credential, how it came (http, mcp, import, command) and when, by the service's clock. NULL: it was
-- written before this was kept.
ALTER TABLE long_term_memory ADD COLUMN written_by TEXT;
ALTER TABLE long_term_memory ADD COLUMN written_through TEXT;
ALTER TABLE long_term_memory ADD COLUMN written_at INTEGER;
-- The metadata keys that were added or replaced since, each with the id of the credential that did it.
ALTER TABLE long_term_memory ADD COLUMN later_keys TEXT CHECK (later_keys IS NULL OR json_valid(later_keys));
-- Whether the credential was good for the speaker whom the memory names.
ALTER TABLE long_term_memory ADD COLUMN speaker_holds INTEGER NOT NULL DEFAULT 1 CHECK (speaker_holds IN (0, 1));

CREATE INDEX long_term_memory_writer ON long_term_memory (tenant_id, written_by, created_at DESC, id DESC)
WHERE written_by IS NOT NULL;
CREATE INDEX long_term_memory_later ON long_term_memory (tenant_id, id) WHERE later_keys IS NOT NULL;

ALTER TABLE audit ADD COLUMN written_by TEXT;

-- Credentials that hold no longer: one by its id, or with the id '' all of a tenant that were issued before a moment.
-- revoked_at is later in each row than in those before it, so that a replica reads what is new.
CREATE TABLE revocation (
  tenant_id TEXT NOT NULL,
  credential_id TEXT NOT NULL,
  issued_before INTEGER,
  revoked_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, credential_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX revocation_order ON revocation (revoked_at);

-- The gate of 0010, with metadata in place of its size.
DROP TRIGGER write_admission_checked;
DROP VIEW write_admission;

CREATE VIEW write_admission AS
SELECT
  -- The memory that is to be written.
  NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS content_hash, NULL AS content_bytes, NULL AS metadata,
  -- The metadata that the agent's memory of this content must still have; NULL: the new memory's own, or no such memory.
  -- And whether that memory must still have expired.
  NULL AS merged_from, NULL AS was_expired,
  -- The credential that writes, and when it was issued; NULL: none.
  NULL AS written_by, NULL AS issued_at,
  -- The revision of the deletion of this id that the write undoes; 0: of none.
  NULL AS undoes,
  -- Whether it is a store: one counts in stores_per_minute, is refused while the agent's long-term memory is switched
  -- off, and is the same memory where the agent has the content; an import's line is nothing of that. Its key: or NULL.
  NULL AS is_store, NULL AS key,
  -- The indexes that its vectors were made for: the active one, and the one beside it, or NULL.
  NULL AS active, NULL AS shadow,
  -- The limits of an agent and of the tenant where the operator has set no others, {"agent": [memories, bytes, stores per
  -- minute], "tenant": ...}, and what the lines before it in the run bring, {"agent": [memories, bytes], "tenant": ...}.
  NULL AS limits, NULL AS before;

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
      -- What a run that is made again had stored may have been deleted in between, under the same id.
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
      -- Metadata of a memory that is there is changed only by who has read it (app/services/memories/write.py).
      new.is_store AND EXISTS (
        SELECT 1 FROM long_term_memory AS held
        WHERE held.tenant_id = new.tenant_id AND held.agent_id = new.agent_id AND held.content_hash = new.content_hash
          AND held.metadata <> new.metadata AND (
            held.metadata IS NOT new.merged_from
            OR new.was_expired AND (held.expires_at IS NULL OR held.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
          )
      ) AS differs,
      -- The same content again is no new memory: only what its metadata grows by counts.
      EXISTS (
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
  WHERE new.is_store
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

-- What every store and recall reads in passing, about all tenants and shown to no caller: which embedding configs are in
-- use, when the last credential was revoked, and whether something is 20 s overdue while no indexer holds the lease.
DROP VIEW service_state;

CREATE VIEW service_state AS
SELECT (
    SELECT json_array(in_use.provider, in_use.model, in_use.dimensions, in_use.index_name) FROM embedding_in_use AS in_use
  ) AS active,
  (
    SELECT json_array(config.provider, config.model, config.dimensions, config.index_name)
    FROM embedding_config AS config
    WHERE config.index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
  ) AS shadow,
  (SELECT in_use.epoch FROM embedding_in_use AS in_use) AS config_epoch,
  EXISTS (SELECT 1 FROM long_term_memory) AS any_memory,
  (SELECT max(revocation.revoked_at) FROM revocation) AS revoked_at,
  NOT EXISTS (
    SELECT 1 FROM lease
    WHERE lease.name = 'indexer' AND lease.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  ) AND (
    EXISTS (
      SELECT 1 FROM outbox
      WHERE outbox.due_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 20000
    )
    OR EXISTS (
      SELECT 1 FROM erasure
      WHERE erasure.receipt IS NULL
        AND erasure.advanced_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 20000
    )
  ) AS unattended;
