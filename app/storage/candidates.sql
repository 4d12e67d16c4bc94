-- One statement finds the candidates of a recall and reads them. It takes JSON text as ?1. A name in two braces is a
-- rule that other statements have too, or that stands here more than once: candidates.py puts its text in.
-- ?1: tenant_id, agent_id; an array for each channel's section (lexical, synonyms, semantic, hypothetical, dated, keyed),
-- which may be absent; where (created_after, created_before, metadata; absent without a filter); index_name,
-- max_pending, max_in_bulk, newest_in_bulk, fill, also; index_depth: the number of hits from which on the index may have more;
-- width: the factor by which more candidates are read than usual;
-- likely: the number of the best rows whose content is read in a large scope; for_model: whether a model reads the
-- answer; as_of: the moment as of which memories hold, absent for now. An array is taken out of ?1 before json_each
-- reads it: with a path json_each would parse all of ?1 each time. A line "-- name: ..." begins a section; the columns
-- of the section learned are read only where a model is to answer. A section that finds candidates gives their rows of
-- long_term_memory with points from 0 to 1, and is named in the section seeds.

-- The statement begins with SELECT, by which the adapters know a statement that only reads.
SELECT * FROM (
WITH
-- name: moment
-- The moment as of which memories hold.
moment(at) AS (SELECT coalesce(?1 ->> 'as_of', {{horizon}})),
-- name: own
-- The scope's memories. passes: whether the memory passes the filter. A memory that is not shown does not exist for a
-- model. CASE keeps seldom needed conditions from being computed for every row.
own AS NOT MATERIALIZED (
  SELECT rowid AS row, id, content, metadata, session_id, created_at, occurred_at, happened_at,
    speaker_holds, speakers, statements_read IS 0 AS uncompared, message_id, learned, {{stated_by}} AS stated_by,
    iif(written_at IS NULL, NULL, json_array(written_by, written_through, nullif(written_at, created_at))) AS source,
    NOT {{living}} AS expired, forgotten_at IS NOT NULL AS forgotten, coalesce({{superseded}}, FALSE) AS superseded,
    CASE WHEN (SELECT ?1 ->> 'as_of' IS NULL) THEN TRUE ELSE happened_at <= ?1 ->> 'as_of' END AND
    CASE WHEN (SELECT ?1 -> 'where' IS NULL) THEN TRUE ELSE (
      created_at > (SELECT coalesce(?1 ->> '$.where.created_after', -1e18))
      AND created_at < (SELECT coalesce(?1 ->> '$.where.created_before', 1e18))
      AND {{has_metadata}} AND {{states}}
    ) END AS passes
  FROM long_term_memory WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
    AND CASE WHEN (SELECT ?1 ->> 'for_model') THEN {{shown}} ELSE TRUE END
),
passing AS NOT MATERIALIZED (SELECT * FROM own WHERE passes AND NOT expired AND NOT forgotten),
-- name: stats
-- The number of the scope's memories, and the number of them from which on a word is common. A word in 500 memories, or
-- in half of 200 or more, tells little and costs much.
stats AS MATERIALIZED (
  SELECT memories, iif(memories < 200, memories + 1, min(memories / 2, 500)) AS common
  FROM (
    SELECT coalesce(max(memories), 0) AS memories FROM usage
    WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
  )
),
-- name: bounds
-- The bounds of what is read. A small scope is read nearly whole; the rows read of a larger scope do not grow with it.
-- window: the memories read of each term. most: the memories read for all terms together. asked: the number of terms of
-- which further memories that have them are searched. shared: the memories found so for each term. compared: the number
-- of terms that are looked for in the vector index's hits. hits: the number of these hits, and hits_of_common: that
-- number for a common term. depth: the candidates that a channel gives at most. likely: the number of seeds whose
-- content is read, with that of their neighbours. around: the number of seeds whose neighbours are found, fewer in a
-- larger scope.
-- in_scope and in_sample come before a word that is looked for in the scope's memories, and in each 16th of them. Where
-- the database holds no other agent's memories the scope's own word is left out: FTS5 would walk all memories for it in
-- each query. Both limit only the word behind them to the columns of the content: FTS5 then need not read the positions
-- of further words.
bounds AS MATERIALIZED (
  SELECT small, memories, iif(small, common, min(common, 6000 / terms)) AS common,
    width * iif(small, 500, max(16, min(120, 400 / terms))) AS window, width * iif(small, 400, 100) AS most,
    iif(small, 64, 8) AS asked, width * iif(small, 400, min(60, 200 / min(terms, 8))) AS shared,
    iif(long, 2, 8) AS compared, width * iif(long, 25, min(60, 400 / min(terms, 8))) AS hits,
    width * iif(small, 60, 15) AS hits_of_common,
    width * iif(small, 40, 34) AS depth, iif(small, width * 80, ?1 ->> 'likely') AS likely,
    width * iif(small, 30, iif(long, 16, min(40, max(26, 45 - memories / 500)))) AS around,
    iif(alone, '', 'scope : "' || scope || '0" AND ') || '{content segments} : ' AS in_scope,
    'scope : "' || scope || '1" AND {content segments} : ' AS in_sample
  FROM (
    SELECT *, max(given, 1) AS terms, given > 16 AS long, memories <= 1000 AS small
    FROM (
      SELECT ?1 ->> 'width' AS width, memories, common,
        lower(hex(?1 ->> 'tenant_id')) || 'g' || lower(hex(?1 ->> 'agent_id')) AS scope,
        (SELECT count(*) FROM (SELECT 1 FROM usage WHERE agent_id <> '' LIMIT 2)) = 1 AS alone,
        coalesce(json_array_length(?1, '$.lexical'), 0) + coalesce(json_array_length(?1, '$.synonyms'), 0) AS given
      FROM stats
    )
  )
),
-- name: lexical
-- The best memories by words. Each term is looked for with the scope's own word, in the index of words, and only the
-- newest memories of each are read: the number of rows read is bounded, whatever the query and however many memories
-- there are. Synonyms are numbered behind the query's own words. own: the weight of a word, of 2.
-- words_search.py finds the same in steps: a change here is a change there.
wanted_words AS (
  SELECT key AS term, '(' || value || ')' AS word, 2 AS own FROM json_each(?1 -> 'lexical') UNION ALL
  SELECT key + json_array_length(?1, '$.lexical'), '(' || value || ')', 1 FROM json_each(?1 -> 'synonyms')
),
found AS MATERIALIZED (
  SELECT term, own, word, bounds.*, in_scope || word AS expression, (
    SELECT json_group_array(number) FROM (
      SELECT rowid AS number FROM memory_words
      WHERE memory_words MATCH in_scope || word ORDER BY rowid DESC
      LIMIT (SELECT window FROM bounds)
    )
  ) AS numbers
  FROM wanted_words CROSS JOIN bounds
),
-- seen: the number of memories that have a term. Where not all of them were read, the term is counted among each 16th
-- memory, which the index of words knows by another word of the scope (schema.sql); the count ends where a term is
-- common.
terms AS MATERIALIZED (
  SELECT *, json_array_length(numbers) AS read,
    CASE WHEN json_array_length(numbers) < window THEN json_array_length(numbers) ELSE max(window, min(memories, 16 * (
      SELECT count(*) FROM (
        SELECT 1 FROM memory_words WHERE memory_words MATCH in_sample || word
        LIMIT (SELECT common / 16 + 1 FROM bounds)
      )
    ))) END AS seen
  FROM found
),
-- The weight of each term, by BM25 as in app/retrieval/channels/lexical.py: a fraction replaces the logarithm of
-- 1 + times, which not every SQLite has. The fraction is off by a tenth at most. chosen: whether memories are found by
-- the term: the rarest terms are chosen first, those of synonyms last.
weighed AS (
  SELECT *, own * (0.35 + 0.39 * times) / (1 + 0.0775 * times) AS weight, row_number() OVER by_rarity AS place,
    seen < common AND sum(read) OVER by_rarity - read < most AS chosen
  FROM (SELECT *, max(memories, 200) / max(seen + 0.5, max(memories, 200) / 80.0) AS times FROM terms WHERE read > 0)
  WINDOW by_rarity AS (ORDER BY seen >= common, own DESC, seen, term)
),
-- complete: the number of terms of which all memories are looked at. inquired: whether further memories that have the
-- term are looked for.
listed AS (
  SELECT *, place <= asked AND (seen < common OR NOT small) AS inquired, sum(chosen AND read < window) OVER () AS complete,
    group_concat(CASE WHEN chosen AND place <= asked THEN word END, ' OR ') OVER () AS found_by,
    group_concat(CASE WHEN place <= asked THEN word END, ' OR ') OVER () AS words_asked,
    group_concat(CASE WHEN own = 2 THEN word END, ' AND ') OVER () AS all_words,
    sum(CASE WHEN own = 2 THEN weight END) OVER () AS all_weight,
    sum(CASE WHEN own = 2 THEN 1 << term END) OVER () AS all_terms
  FROM weighed
),
-- The best hits of the vector index: these are compared by their words too.
hits AS MATERIALIZED (
  SELECT number, hit.key AS place
  FROM json_each(?1 -> 'semantic') AS hit CROSS JOIN memory_number ON memory_number.id = hit.value ->> 0
  LIMIT (SELECT hits FROM bounds)
),
-- The further searches in the index of words. For a term that is not chosen: which memories of the chosen terms have
-- it. For a chosen term of which not all memories were read: the newest others that have another term too. For both:
-- which hits have the term, of the first of_hits. Where all words are common: the newest memories that have all of
-- them. after: these are looked for 40 times as far back as the window of the rarest term reaches. before: memories
-- with this number or a greater one were found by the term itself.
searched AS MATERIALIZED (
  SELECT weight, words, numbers, CASE WHEN also IS NULL AND of_hits = 0 THEN '[]' ELSE (
      SELECT json_group_array(DISTINCT number) FROM (
        SELECT number FROM (
          SELECT rowid AS number FROM memory_words
          WHERE memory_words MATCH coalesce(also, '""') AND rowid < before AND rowid > after
          ORDER BY rowid DESC LIMIT (SELECT shared FROM bounds)
        ) UNION ALL
        SELECT number FROM hits CROSS JOIN memory_words
        WHERE hits.place < of_hits AND number < before
          AND memory_words MATCH word AND memory_words.rowid = number
      )
    ) END AS more
  FROM (
    SELECT word, iif(found_by IS NULL, all_weight, weight) AS weight, iif(found_by IS NULL, all_terms, 1 << term) AS words,
      iif(chosen, numbers, '[]') AS numbers, iif(chosen, numbers ->> '$[#-1]', 9e18) AS before,
      iif(found_by IS NULL, (numbers ->> 0) - 40 * ((numbers ->> 0) - (numbers ->> '$[#-1]')), 0) AS after,
      iif(
        found_by IS NOT NULL AND inquired AND NOT (chosen AND read < window) AND place <= complete + compared,
        iif(seen < common, hits, hits_of_common), 0
      ) AS of_hits,
      CASE
        WHEN found_by IS NULL THEN iif(place = 1, in_scope || all_words, NULL)
        WHEN NOT inquired THEN NULL
        WHEN NOT chosen THEN expression || ' AND (' || found_by || ')'
        WHEN read = window AND words_asked <> word THEN
          expression || ' AND (' || substr(replace(' OR ' || words_asked, ' OR ' || word, ''), 5) || ')'
      END AS also
    FROM listed
  )
),
-- The memories found: each has points for the words that it holds, and a bit for each of these words.
matches AS MATERIALIZED (
  SELECT id, points / (1 + 1.2 * (0.9 + 0.1 * bytes / 130.0)) AS points, words
  FROM (
    SELECT value AS number, sum(weight) AS points, sum(words) AS words
    FROM searched CROSS JOIN json_each(replace(replace(replace(numbers || more, '][', ','), '[,', '['), ',]', ']'))
    GROUP BY value
  ) CROSS JOIN memory_number USING (number)
),
-- name: by words
-- The best of these.
lexical AS (
  SELECT row, points / max(points) OVER () AS points FROM (
    SELECT row, points FROM (SELECT id, points FROM matches ORDER BY points DESC LIMIT -1) CROSS JOIN passing USING (id)
    LIMIT (SELECT depth FROM bounds)
  )
),
-- name: semantic
-- The best of the index's hits: each hit is an id with its points, best first.
semantic AS (
  SELECT row, value ->> 1 AS points
  FROM json_each(?1 -> 'semantic') AS hit CROSS JOIN passing WHERE passing.id = value ->> 0
  LIMIT (SELECT depth FROM bounds)
),
-- name: hypothetical
-- The best of the index's hits for the statement by which a memory would answer the query.
hypothetical AS (
  SELECT row, value ->> 1 AS points
  FROM json_each(?1 -> 'hypothetical') AS hit CROSS JOIN passing WHERE passing.id = value ->> 0
  LIMIT (SELECT depth FROM bounds)
),
-- Meaning counts a little more than words here, so that near memories are read in a store of notes too, where words
-- tell little. Scores weigh the two otherwise (app/retrieval/weights.toml). D1 takes five terms of a compound SELECT at
-- most.
similar AS (SELECT row, 0.7 * points AS points FROM semantic UNION ALL SELECT row, 0.35 * points FROM hypothetical),
-- name: dated
-- The newest 20 memories of the periods. A period is a list of readings, the likeliest first: the first reading in
-- which a memory of the scope happened is meant. A reading is a start and an end, half-open, in ms since the epoch.
periods AS MATERIALIZED (
  SELECT (
    SELECT reading.value FROM json_each(named.value) AS reading
    WHERE EXISTS (
      SELECT 1 FROM own WHERE happened_at >= reading.value ->> 0 AND happened_at < reading.value ->> 1
        AND NOT expired AND NOT forgotten
    ) LIMIT 1
  ) AS meant FROM json_each(?1 -> 'dated') AS named
),
-- few: whether the index has given all memories that pass the filter, because they are fewer than it gives at most. Then no
-- others are read: where few pass, the newest that do may be far back. An index that lags behind an import is not asked.
few AS MATERIALIZED (
  SELECT ?1 -> 'where' IS NOT NULL AND ?1 ->> 'fill' = 0 AND json_array_length(?1 -> 'semantic') < ?1 ->> 'index_depth'
    AND NOT EXISTS (
    SELECT 1 FROM outbox WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND operation = 'upsert'
      AND index_name = ?1 ->> 'index_name' AND in_bulk = 1
  ) AS few
),
dated AS (
  SELECT * FROM (
    SELECT row FROM periods CROSS JOIN few CROSS JOIN passing
    WHERE NOT few AND happened_at >= meant ->> 0 AND happened_at < meant ->> 1
    ORDER BY happened_at DESC LIMIT 20 * (?1 ->> 'width')
  ) UNION ALL SELECT * FROM (
    SELECT row FROM periods CROSS JOIN json_each(iif((SELECT few FROM few), ?1 -> 'semantic', '[]')) AS hit
      CROSS JOIN passing ON passing.id = hit.value ->> 0
    WHERE happened_at >= meant ->> 0 AND happened_at < meant ->> 1
    ORDER BY happened_at DESC, row DESC LIMIT 20 * (?1 ->> 'width')
  )
),
-- name: keyed
-- The memories whose claims of a key hold (schema.sql) and that may be entries.
holders AS NOT MATERIALIZED (
  SELECT key, claim.happened_at, memory_id, passing.row FROM claim CROSS JOIN passing ON passing.id = claim.memory_id
  WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
    AND {{claim_holds}}
),
-- For each key that is asked for, the holder that was said last.
keyed AS MATERIALIZED (
  SELECT row, 1 AS points FROM (
    SELECT (
      SELECT row FROM holders WHERE holders.key = asked.value ORDER BY happened_at DESC, memory_id DESC LIMIT 1
    ) AS row FROM json_each(?1 -> 'keyed') AS asked
  ) WHERE row IS NOT NULL
),
-- name: seeds
-- A memory that two channels find has the points of both. Where the query names periods, a memory has points for how
-- near to a period it happened: none from two weeks on, a line in place of an exponential (date.py).
seeds AS MATERIALIZED (
  SELECT row, sum(points) + coalesce((
    SELECT 1.5 * max(0.0, 1 - min(max(meant ->> 0 - happened_at, happened_at - meant ->> 1, 0)) / 1209600000.0)
    FROM periods CROSS JOIN own WHERE own.row = found.row
  ), 0) AS points FROM (
    SELECT row, 0.6 * points AS points FROM lexical
    UNION ALL SELECT row, points FROM similar
    UNION ALL SELECT row, 0 FROM dated
    UNION ALL SELECT * FROM keyed
  ) AS found GROUP BY row
),
-- name: neighbours
-- The seeds, and the memories before and after the best seeds in their sessions. whole: the likeliest of these, which
-- may be entries.
reached AS (
  SELECT value AS row, place <= (SELECT likely FROM bounds) AS whole
  FROM (
    SELECT place, coalesce(CASE WHEN place <= (SELECT around FROM bounds) THEN (
      SELECT json_array(memory.row, {{before}}, {{after}})
      FROM own AS memory WHERE memory.row = seed.row AND memory.session_id IS NOT NULL
    ) END, json_array(row)) AS rows
    FROM (SELECT row, row_number() OVER (ORDER BY points DESC) AS place FROM seeds) AS seed
  ) CROSS JOIN json_each(rows) WHERE value IS NOT NULL
),
-- name: queued
-- The memories that the index may not show yet: the newest that stores have queued, and far fewer of those that an
-- import or a job has queued, which may be very many. Where the caller has vectors of them, it names the near ones.
queued_in_bulk AS MATERIALIZED (
  SELECT (
    SELECT json_group_array(id) FROM (
      SELECT id FROM outbox INDEXED BY outbox_newest
      WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND operation = 'upsert'
        AND index_name = ?1 ->> 'index_name' AND in_bulk = 1
      ORDER BY revision DESC LIMIT ?1 ->> 'max_in_bulk' + 1
    )
  ) AS all_of_them, (
    SELECT json_group_array(id) FROM (
      SELECT id FROM outbox INDEXED BY outbox_newest
      WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND operation = 'upsert'
        AND index_name = ?1 ->> 'index_name' AND in_bulk = 1
      ORDER BY revision DESC LIMIT ?1 ->> 'newest_in_bulk'
    )
  ) AS newest
),
queued AS (
  SELECT row FROM (
    SELECT row FROM outbox INDEXED BY outbox_newest CROSS JOIN passing USING (id)
    WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND operation = 'upsert'
      AND index_name = ?1 ->> 'index_name' AND in_bulk = 0 AND CASE WHEN (SELECT ?1 ->> 'near' IS NULL) THEN TRUE
        ELSE revision > (SELECT ?1 ->> 'since') AND id || revision NOT IN (SELECT value FROM json_each(?1 -> 'has'))
          OR id IN (SELECT value FROM json_each(?1 -> 'near')) END
    ORDER BY revision DESC LIMIT ?1 ->> 'max_pending'
  ) UNION ALL
  SELECT row FROM queued_in_bulk CROSS JOIN json_each(
    iif(json_array_length(all_of_them) > ?1 ->> 'max_in_bulk', queued_in_bulk.newest, all_of_them)
  ) AS each CROSS JOIN passing ON passing.id = each.value
),
-- name: newest
-- The newest memories are candidates in any case, where the index of vectors could not apply the filter. The bounds of
-- time are written once more, so that SQLite uses the table's index.
newest AS (
  SELECT row FROM passing
  WHERE created_at > coalesce(?1 ->> '$.where.created_after', -1e18)
    AND created_at < coalesce(?1 ->> '$.where.created_before', 1e18)
  ORDER BY created_at DESC LIMIT ?1 ->> 'fill'
),
-- name: rows
-- whole: whether the row may be an entry, so that its content is read. added: whether only `also` asks for the row.
found_rows AS (
  SELECT row, whole, FALSE AS added FROM reached UNION ALL
  SELECT row, TRUE, FALSE FROM keyed UNION ALL
  SELECT row, TRUE, FALSE FROM queued UNION ALL
  SELECT row, TRUE, FALSE FROM newest UNION ALL
  SELECT row, TRUE, TRUE FROM own WHERE id = ?1 ->> 'also'
),
-- For each found row that no longer holds, this finds its successor: the memory that holds the same key now. The successor
-- becomes a row too, and may lead to another in turn. If no successor passes the filter, or it has expired, the old row may be
-- an entry; if the successor was forgotten, neither may.
-- holding: the successor's id, when the old row was superseded, and the reader's probability if a reader has found the
-- relation. The successor is that of the first key that has one, or else that of the last relation.
-- The part is recursive so that the parts above are compiled once: SQLite copies a part for each mention. step: whether the row
-- was judged; where the agent has no claim, every row counts as judged. UNION ends a chain that leads back to itself.
judged(row, whole, added, holding, step) AS (
  SELECT row, whole, added, NULL, NOT (
    SELECT EXISTS (SELECT 1 FROM claim WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id')
  ) FROM found_rows UNION
  SELECT own.row, step OR judged.whole, NOT step AND judged.added, (
    SELECT json_array(holder, superseded_at, (
      SELECT probability FROM relation
      WHERE key GLOB '~*' AND relation.tenant_id = ?1 ->> 'tenant_id' AND relation.agent_id = ?1 ->> 'agent_id'
        AND newer_id = holder AND older_id = own.stated_by
    )) FROM (
      SELECT key, superseded_at, (
        SELECT memory_id FROM holders WHERE holders.key = stated.key ORDER BY happened_at DESC, memory_id DESC LIMIT 1
      ) AS holder
      FROM claim AS stated INDEXED BY claim_of_memory
      WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = ?1 ->> 'agent_id'
        AND stated.memory_id = own.stated_by AND {{ended}}
    ) ORDER BY holder IS NULL, key GLOB '~*', iif(key GLOB '~*', NULL, key), holder DESC LIMIT 1
  ), TRUE
  FROM judged CROSS JOIN own
    ON own.row = iif(step, (SELECT passing.row FROM passing WHERE passing.id = judged.holding ->> 0), judged.row)
),
-- The source of the newest memory: most others have the same source, which the answer then has once.
usual AS MATERIALIZED (SELECT source FROM own ORDER BY created_at DESC LIMIT 1),
chosen AS (
  SELECT row, max(whole OR holding IS NOT NULL) AS whole, min(added) AS added, max(holding) AS holding FROM judged
  WHERE step GROUP BY row
)
-- Rows of few bytes, from which candidates.py makes candidates. Only likely entries are read whole; of the others,
-- which tell what was said around the entries, the content is read no further than the speaker's name.
SELECT memory.id, CASE WHEN whole THEN content
    WHEN instr(content, ':') BETWEEN 1 AND 63 THEN substr(content, 1, instr(content, ':') + 1) ELSE '' END AS text,
  iif(whole, metadata, metadata -> '$.speaker') AS meta,
  json_array(memory.row, session_id, length(CAST(content AS BLOB)), coalesce(words, 0),
    CASE WHEN session_id IS NOT NULL THEN memory.row - {{before}} END,
    whole + 2 * speaker_holds + 4 * expired + 8 * forgotten + 16 * (CASE WHEN superseded THEN
      holding ->> 0 IS NOT NULL OR EXISTS (
        SELECT 1 FROM {{successors}} AND holder.forgotten AND NOT holder.expired
      ) ELSE FALSE END)
      + 32 * (memory.row IN (SELECT row FROM keyed)) + 64 * added + 128 * uncompared + 256 * (learned IS NOT NULL),
    iif(whole, created_at, happened_at),
    CASE WHEN whole AND (
        occurred_at IS NOT NULL OR holding IS NOT NULL OR speakers IS NOT NULL
        OR source IS NOT (SELECT source FROM usual)
      ) THEN
      json_array(
        occurred_at, json(holding), iif(source IS (SELECT source FROM usual), 0, json(source)), json(speakers)
      ) END
    -- name: learned
    , message_id, learned -> 'message_ids'
    -- name: entries
  ) AS facts
FROM chosen CROSS JOIN own AS memory USING (row)
  LEFT JOIN matches ON matches.id = memory.id
WHERE (passes AND NOT expired AND NOT forgotten) OR memory.id = ?1 ->> 'also'
UNION ALL
SELECT NULL, NULL, NULL, json_array(
  memories, json((SELECT json_group_object(term, iif(seen < common, seen, memories)) FROM terms)),
  json((SELECT source FROM usual))
) FROM stats
)
