-- The gate of every write of memories, stated once. The first statement of a run inserts its lines into write_admission;
-- the trigger lets each of them in or stops the run with RAISE(ABORT, code), which undoes all of it. The statements behind
-- it ask for nothing more. Times are milliseconds since the Unix epoch, by the database's own clock.

CREATE VIEW write_admission AS
SELECT
  -- The memory that is to be written.
  NULL AS tenant_id, NULL AS agent_id, NULL AS id, NULL AS content_hash, NULL AS content_bytes, NULL AS metadata_bytes,
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
    WHEN gate.erasing THEN RAISE(ABORT, 'erasing')
    WHEN gate.deleted THEN RAISE(ABORT, 'deleted')
    WHEN gate.key_used THEN RAISE(ABORT, 'key_used')
    -- A run whose end was not known and that is made again goes through once more; where it may not, it was stored.
    WHEN gate.stored AND (gate.disabled OR gate.config_changed OR gate.over) THEN RAISE(ABORT, 'stored')
    WHEN gate.taken THEN RAISE(ABORT, 'taken')
    WHEN gate.disabled THEN RAISE(ABORT, 'disabled')
    WHEN gate.config_changed THEN RAISE(ABORT, 'config_changed')
    WHEN gate.over THEN RAISE(ABORT, 'quota_exceeded')
  END
  FROM (
    SELECT
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
            iif(present.id IS NULL, new.content_bytes, 0) + new.metadata_bytes
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
-- use, and whether something is 20 s overdue while no indexer holds the lease.
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
