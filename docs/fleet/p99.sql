-- The p99 of each step, month by month.
SELECT strftime(date, '%Y-%m') AS month, repo, regexp_replace(event, '[.]end$', '') AS step,
       count(*) AS runs, quantile_disc(duration_ns, 0.99) / 1e6 AS p99_ms
FROM read_parquet('runs/**/*.parquet', hive_partitioning = true)
WHERE event LIKE '%.end' AND duration_ns IS NOT NULL
GROUP BY ALL
ORDER BY month, repo, step;
