-- The steps whose median of the last thirty days is more than a fifth, and a millisecond, above that of the time before.
WITH steps AS (
  SELECT repo, regexp_replace(event, '[.]end$', '') AS step, duration_ns, date > current_date - 30 AS recent
  FROM read_parquet('runs/**/*.parquet', hive_partitioning = true)
  WHERE event LIKE '%.end' AND duration_ns IS NOT NULL
), medians AS (
  SELECT repo, step,
         quantile_disc(duration_ns, 0.5) FILTER (NOT recent) AS before,
         quantile_disc(duration_ns, 0.5) FILTER (recent) AS after
  FROM steps
  GROUP BY ALL
)
SELECT repo, step, before / 1e6 AS before_ms, after / 1e6 AS after_ms
FROM medians
WHERE after > 1.2 * before AND after - before > 1000000
ORDER BY after / before DESC;
