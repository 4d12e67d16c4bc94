-- How long calls took in the last day, by route and by tool.
-- index1 is tenant; blob1 method, blob2 route, blob3 tool, blob4 outcome, blob5 status;
-- double1 ms, double2 embedding_tokens, double3 embedded_characters, double4 model_tokens.
-- A row stands for as many calls as _sample_interval says.
SELECT
  blob1 AS method,
  blob2 AS route,
  blob3 AS tool,
  SUM(_sample_interval) AS calls,
  quantileExactWeighted(0.5)(double1, _sample_interval) AS p50_ms,
  quantileExactWeighted(0.99)(double1, _sample_interval) AS p99_ms
FROM memory_gateway_calls
WHERE timestamp > NOW() - INTERVAL '1' DAY
GROUP BY method, route, tool
ORDER BY p99_ms DESC
LIMIT 200
