-- Calls of the last day that were answered with an error, by tenant and code.
-- index1 is tenant; blob1 method, blob2 route, blob3 tool, blob4 outcome, blob5 status;
-- double1 ms, double2 embedding_tokens, double3 embedded_characters, double4 model_tokens.
-- A row stands for as many calls as _sample_interval says.
SELECT
  index1 AS tenant,
  blob4 AS outcome,
  blob5 AS status,
  SUM(_sample_interval) AS calls
FROM memory_gateway_calls
WHERE timestamp > NOW() - INTERVAL '1' DAY AND blob4 != 'ok' AND blob4 != 'degraded'
GROUP BY tenant, outcome, status
ORDER BY calls DESC
LIMIT 500
