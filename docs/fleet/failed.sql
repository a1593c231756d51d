-- The steps that failed, how often, and the log of the last time. A step ends with the status of its command.
SELECT repo, regexp_replace(event, '[.]end$', '') AS step, count(*) AS runs,
       count_if(data <> '0') AS failed, max(date) FILTER (data <> '0') AS last,
       arg_max(log, time_ns) FILTER (data <> '0') AS log
FROM read_parquet('runs/**/*.parquet', hive_partitioning = true)
WHERE event LIKE '%.end' AND regexp_full_match(data, '[0-9]+')
GROUP BY ALL
HAVING failed > 0
ORDER BY failed DESC, repo, step;
