-- What each tenant's calls cost on each of the last 30 days.
-- index1 is tenant; blob1 method, blob2 route, blob3 tool, blob4 outcome, blob5 status;
-- double1 ms, double2 embedding_tokens, double3 embedded_characters, double4 model_tokens.
-- A row stands for as many calls as _sample_interval says. The service knows no prices: put what your providers ask for a
-- million tokens of embeddings and of language models in the place of 0.02 and 0.60.
SELECT
  toStartOfInterval(timestamp, INTERVAL '1' DAY) AS day,
  index1 AS tenant,
  SUM(_sample_interval) AS calls,
  SUM(_sample_interval * double2) AS embedding_tokens,
  SUM(_sample_interval * double3) AS embedded_characters,
  SUM(_sample_interval * double4) AS model_tokens,
  SUM(_sample_interval * (double2 * 0.02 + double4 * 0.60)) / 1000000 AS cost
FROM memory_gateway_calls
WHERE timestamp > NOW() - INTERVAL '30' DAY
GROUP BY day, tenant
ORDER BY day DESC, cost DESC
LIMIT 1000
