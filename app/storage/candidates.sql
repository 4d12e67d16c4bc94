-- Finds what a recall chooses from, and reads it: one statement, which sqlite3 runs as it stands with JSON text as ?1.
-- ?1: tenant_id, agent_id; an array for each channel's section (lexical, synonyms, semantic, hypothetical, dated, keyed),
-- which may be absent; where (created_after, created_before, metadata; absent without a filter); index_name, max_pending,
-- fill, also; width: how many times as many candidates as usual; for_model: whether a model reads the answer; as_of: the
-- moment as of which memories hold, absent for now. A line "-- name: ..." begins a section; the columns of the section
-- learned are read only where a model is to answer. One that finds candidates gives their rows of long_term_memory with
-- points from 0 to 1, and is named in the section seeds.

-- It begins with SELECT, by which the adapters know a statement that only reads.
SELECT * FROM (
WITH
-- name: moment
-- As of when memories hold. What says of itself that it happens more than a day from now does not hold yet.
moment(at) AS (
  SELECT coalesce(?1 ->> 'as_of', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + 86400000)
),
-- name: own
-- The scope's memories. passes: whether one passes the filter. A value of metadata is equal when it is the same JSON
-- value: 1 is 1.0, but neither is true. Keys are compared by json_each, so that none is taken for a path.
-- A row that a program keeps for itself, by the metadata key "store.key", does not exist for a model (as in filters.py).
-- stated_by: whose claims say whether it holds; of a learned memory, those of a message (0017_learned.sql).
-- CASE keeps what is seldom needed from being computed for every row.
own AS NOT MATERIALIZED (
  SELECT rowid AS row, id, content, metadata, session_id, created_at, occurred_at, happened_at,
    speaker_holds, written_by, written_through, written_at, message_id, learned, coalesce(superseded_with, id) AS stated_by,
    CASE WHEN expires_at IS NULL THEN FALSE
      ELSE expires_at <= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) END AS expired,
    forgotten_at IS NOT NULL AS forgotten,
    CASE WHEN superseded_at IS NULL THEN FALSE ELSE superseded_at <= (SELECT at FROM moment) END AS superseded,
    CASE WHEN (SELECT ?1 ->> 'as_of' IS NULL) THEN TRUE ELSE happened_at <= ?1 ->> 'as_of' END AND
    CASE WHEN (SELECT ?1 -> 'where' IS NULL) THEN TRUE ELSE (
      created_at > coalesce(?1 ->> '$.where.created_after', -1e18)
      AND created_at < coalesce(?1 ->> '$.where.created_before', 1e18)
      AND TRUE /* what it is and states: put in where a recall asks for it (filters.py) */
      AND NOT EXISTS (
        SELECT 1 FROM json_each(?1, '$.where.metadata') AS wanted WHERE NOT EXISTS (
          SELECT 1 FROM json_each(metadata) AS present
          WHERE present.key = wanted.key AND present.atom IS wanted.atom
            AND replace(present.type, 'integer', 'real') = replace(wanted.type, 'integer', 'real')
        )
      )
    ) END AS passes
  FROM long_term_memory WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
    AND CASE WHEN (SELECT ?1 ->> 'for_model') THEN metadata -> '$."store.key"' IS NULL ELSE TRUE END
),
passing AS NOT MATERIALIZED (SELECT * FROM own WHERE passes AND NOT expired AND NOT forgotten),
-- name: stats
-- Of the scope: its memories, and from how many of them on a word is common. A word in 1000 of them, or in half of 200 or
-- more, tells little and costs much.
stats AS MATERIALIZED (
  SELECT memories, iif(memories < 200, memories + 1, min(memories / 2, 1000)) AS common
  FROM (
    SELECT coalesce(max(memories), 0) AS memories FROM usage
    WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
  )
),
-- name: lexical
-- The best 40 by words. Each term is looked for with the scope's own word, in the index of words. Synonyms are numbered
-- behind the query's own words. own: what a word counts, of 2.
wanted_words AS (
  SELECT key AS term, value, 2 AS own FROM json_each(?1, '$.lexical') UNION ALL
  SELECT key + json_array_length(?1, '$.lexical'), value, 1 FROM json_each(?1, '$.synonyms')
),
expressions AS MATERIALIZED (
  SELECT term, own, 'scope : "' || lower(hex(?1 ->> 'tenant_id')) || 'g' || lower(hex(?1 ->> 'agent_id'))
    || '0" AND {content segments} : ' || value AS expression
  FROM wanted_words
),
found AS MATERIALIZED (
  SELECT term, own, expression, (
    SELECT json_group_array(number) FROM (
      SELECT rowid AS number FROM memory_words WHERE memory_words MATCH expression LIMIT (SELECT common FROM stats)
    )
  ) AS numbers
  FROM expressions
),
terms AS MATERIALIZED (SELECT term, own, expression, numbers, json_array_length(numbers) AS seen FROM found),
-- With the rarest words 400 memories are looked at, those of synonyms last; with a filter, which may keep any of them out,
-- all.
bounds AS MATERIALIZED (SELECT iif(?1 -> 'where' IS NULL, 400 * (?1 ->> 'width'), 1000000000) AS most),
rare_terms AS MATERIALIZED (
  SELECT term, numbers, sum(seen) OVER (ORDER BY own DESC, seen, term) - seen AS rarer
  FROM terms WHERE seen BETWEEN 1 AND (SELECT common - 1 FROM stats)
),
rarest AS MATERIALIZED (
  SELECT term, value AS number FROM rare_terms CROSS JOIN json_each(numbers) WHERE rarer < (SELECT most FROM bounds)
),
-- Where all words are common: the newest that contain all of them.
with_all AS MATERIALIZED (
  SELECT memory_words.rowid AS number
  FROM (
    SELECT group_concat(expression, ' AND ') AS expression FROM terms WHERE seen AND own = 2
  ) AS every CROSS JOIN memory_words
  WHERE NOT EXISTS (SELECT 1 FROM rare_terms) AND every.expression IS NOT NULL
    AND memory_words MATCH every.expression
  ORDER BY memory_words.rowid DESC LIMIT (SELECT most FROM bounds)
),
postings AS MATERIALIZED (
  SELECT term, number FROM rarest UNION ALL
  SELECT term, value FROM rare_terms CROSS JOIN json_each(numbers)
  WHERE rarer >= (SELECT most FROM bounds) AND value IN (SELECT number FROM rarest) UNION ALL
  SELECT term, number FROM with_all CROSS JOIN terms WHERE seen AND own = 2
),
-- The inverse document frequency's logarithm, in thirds of an octave: not every SQLite has logarithms.
thirds(value) AS (SELECT 1.26 UNION ALL SELECT value * 1.259921 FROM thirds LIMIT 59),
weights AS MATERIALIZED (
  SELECT term, own * (SELECT count(*) FROM thirds WHERE value <= 1 + (memories - seen + 0.5) / (seen + 0.5)) AS weight
  FROM terms CROSS JOIN stats
),
matches AS MATERIALIZED (
  SELECT number, sum(weight) AS points, sum(1 << term) AS words FROM postings CROSS JOIN weights USING (term) GROUP BY number
),
prefiltered AS MATERIALIZED (
  SELECT number, points FROM matches ORDER BY points DESC LIMIT (SELECT most FROM bounds)
),
-- BM25's denominator, with k1 = 1.2, b = 0.1 and 130 bytes: as in app/retrieval/channels/lexical.py.
scored AS MATERIALIZED (
  SELECT id, points / (1 + 1.2 * (0.9 + 0.1 * bytes / 130.0)) AS points
  FROM prefiltered CROSS JOIN memory_number USING (number) ORDER BY 2 DESC LIMIT -1
),
lexical AS MATERIALIZED (
  SELECT row, points / (SELECT max(points) FROM scored) AS points
  FROM scored CROSS JOIN passing USING (id) LIMIT 40 * (?1 ->> 'width')
),
-- name: semantic
-- The best 40 of the index's hits: each an id with its points, best first.
semantic AS MATERIALIZED (
  SELECT row, value ->> 1 AS points
  FROM json_each(?1, '$.semantic') AS hit CROSS JOIN passing WHERE passing.id = value ->> 0
  LIMIT 40 * (?1 ->> 'width')
),
-- name: hypothetical
-- The same of the hits for the statement by which a memory would answer the query.
hypothetical AS MATERIALIZED (
  SELECT row, value ->> 1 AS points
  FROM json_each(?1, '$.hypothetical') AS hit CROSS JOIN passing WHERE passing.id = value ->> 0
  LIMIT 40 * (?1 ->> 'width')
),
-- D1 takes five terms of a compound SELECT at most.
similar AS (SELECT * FROM semantic UNION ALL SELECT * FROM hypothetical),
-- name: dated
-- The newest 20 of the periods. Each is a list of what may be meant, the likeliest first: the first that holds a memory
-- of the scope is. A reading is its start and its end, half-open, in ms since the epoch.
periods AS MATERIALIZED (
  SELECT (
    SELECT reading.value FROM json_each(named.value) AS reading
    WHERE EXISTS (
      SELECT 1 FROM own WHERE happened_at >= reading.value ->> 0 AND happened_at < reading.value ->> 1
        AND NOT expired AND NOT forgotten
    ) LIMIT 1
  ) AS meant FROM json_each(?1, '$.dated') AS named
),
dated AS (
  SELECT row, 0.5 AS points FROM periods CROSS JOIN passing
  WHERE happened_at >= meant ->> 0 AND happened_at < meant ->> 1 ORDER BY happened_at DESC LIMIT 20 * (?1 ->> 'width')
),
-- name: keyed
-- Who states what holds of a key (0014_what_holds.sql) and may be an entry.
holders AS NOT MATERIALIZED (
  SELECT key, claim.happened_at, memory_id, passing.row FROM claim CROSS JOIN passing ON passing.id = claim.memory_id
  WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
    AND claim.happened_at <= (SELECT at FROM moment) AND coalesce(claim.superseded_at > (SELECT at FROM moment), TRUE)
),
-- Of those of the keys that are asked for, the one who said it last.
keyed AS MATERIALIZED (
  SELECT row, 1 AS points FROM (
    SELECT (
      SELECT row FROM holders WHERE holders.key = asked.value ORDER BY happened_at DESC, memory_id DESC LIMIT 1
    ) AS row FROM json_each(?1, '$.keyed') AS asked
  ) WHERE row IS NOT NULL
),
-- name: seeds
seeds AS MATERIALIZED (
  SELECT row, max(points) AS points FROM (
    SELECT * FROM lexical
    UNION ALL SELECT * FROM similar
    UNION ALL SELECT * FROM dated
    UNION ALL SELECT * FROM keyed
  ) GROUP BY row
),
-- name: neighbours
-- The seeds with the memories before and after them in their sessions: the best 100.
neighbours AS MATERIALIZED (
  SELECT seeds.row, points, (
      SELECT row FROM own WHERE own.session_id = memory.session_id
        AND (own.happened_at, row) < (memory.happened_at, memory.row) ORDER BY own.happened_at DESC, row DESC LIMIT 1
    ) AS before, (
      SELECT row FROM own WHERE own.session_id = memory.session_id
        AND (own.happened_at, row) > (memory.happened_at, memory.row) ORDER BY own.happened_at, row LIMIT 1
    ) AS after
  FROM seeds CROSS JOIN own AS memory WHERE memory.row = seeds.row
),
pool AS (
  SELECT row FROM (
    SELECT row, points FROM neighbours UNION ALL
    SELECT before, points / 2 FROM neighbours UNION ALL
    SELECT after, points / 2 FROM neighbours
  ) WHERE row IS NOT NULL GROUP BY row ORDER BY max(points) DESC LIMIT 100 * (?1 ->> 'width')
),
-- name: queued
-- What the index may not show yet.
queued AS (
  SELECT row FROM outbox CROSS JOIN passing USING (id)
  WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND operation = 'upsert'
    AND index_name = ?1 ->> 'index_name'
  ORDER BY revision DESC LIMIT ?1 ->> 'max_pending'
),
-- name: newest
-- Candidates in any case, where the index could not apply the filter. The bounds once more, for the index.
newest AS (
  SELECT row FROM passing
  WHERE created_at > coalesce(?1 ->> '$.where.created_after', -1e18)
    AND created_at < coalesce(?1 ->> '$.where.created_before', 1e18)
  ORDER BY created_at DESC LIMIT ?1 ->> 'fill'
),
-- name: rows
-- The unary + takes the column's affinity away: so SQLite makes an index of matches.
found_rows AS MATERIALIZED (
  SELECT row, min(added) AS added FROM (
    SELECT row, FALSE AS added FROM pool UNION ALL
    SELECT row, FALSE FROM queued UNION ALL
    SELECT row, FALSE FROM newest UNION ALL
    SELECT row, TRUE FROM own WHERE id = ?1 ->> 'also'
  ) GROUP BY row
),
-- Who states something that no longer holds brings who states what does. Where nobody may be an entry who does, because of
-- the filter or because it has expired, it is an entry itself; where what holds was forgotten, nothing is.
-- holding: who does, and when that was replaced which no longer holds.
outdated AS MATERIALIZED (
  SELECT found_rows.row, (
      SELECT json_array((
        SELECT memory_id FROM holders WHERE holders.key = stated.key ORDER BY happened_at DESC, memory_id DESC LIMIT 1
      ), stated.superseded_at) AS holding
      FROM claim AS stated INDEXED BY claim_of_memory
      WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = ?1 ->> 'agent_id'
        AND stated.memory_id = own.stated_by AND stated.superseded_at <= (SELECT at FROM moment)
      ORDER BY holding ->> 0 IS NULL, stated.key LIMIT 1
    ) AS holding,
    EXISTS (
      SELECT 1 FROM claim AS stated INDEXED BY claim_of_memory CROSS JOIN claim AS later CROSS JOIN own AS holder
      WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = ?1 ->> 'agent_id'
        AND stated.memory_id = own.stated_by AND stated.superseded_at <= (SELECT at FROM moment)
        AND later.tenant_id = ?1 ->> 'tenant_id' AND later.agent_id = ?1 ->> 'agent_id' AND later.key = stated.key
        AND later.happened_at <= (SELECT at FROM moment)
        AND coalesce(later.superseded_at > (SELECT at FROM moment), TRUE)
        AND holder.id = later.memory_id AND holder.forgotten AND NOT holder.expired
    ) AS withheld
  FROM found_rows CROSS JOIN own USING (row)
),
chosen AS MATERIALIZED (
  SELECT row, min(added) AS added FROM (
    SELECT row, added FROM found_rows UNION ALL
    SELECT passing.row, FALSE FROM outdated CROSS JOIN passing ON passing.id = outdated.holding ->> 0
  ) GROUP BY row
)
SELECT memory.id, content, metadata AS metadata_json, created_at, occurred_at, happened_at, session_id, bytes,
  speaker_holds, written_by, written_through, written_at,
  expired, forgotten, superseded AND (holding ->> 0 IS NOT NULL OR withheld) AS superseded, holding ->> 0 AS current,
  holding ->> 1 AS until,
  -- name: learned
  message_id, learned -> 'message_ids' AS sources,
  -- name: entries
  memory.row IN (SELECT row FROM keyed) AS keyed, added, coalesce(words, 0) AS words, (
    SELECT id FROM own WHERE own.session_id = memory.session_id
      AND (own.happened_at, row) < (memory.happened_at, memory.row) ORDER BY own.happened_at DESC, row DESC LIMIT 1
  ) AS before, memories,
  (SELECT json_group_object(term, iif(seen < common, seen, memories)) FROM terms) AS found
FROM chosen CROSS JOIN own AS memory USING (row) CROSS JOIN memory_number USING (id)
  LEFT JOIN outdated ON outdated.row = memory.row
  LEFT JOIN matches ON matches.number = +memory_number.number CROSS JOIN stats
WHERE (passes AND NOT expired AND NOT forgotten) OR memory.id = ?1 ->> 'also'
)
