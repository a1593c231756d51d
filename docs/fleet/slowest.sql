-- The ten commands that took longest in the last thirty days, and the logs that have them.
WITH events AS (
  SELECT repo, host, log, log_id, pid, time_ns, event, argv, duration_ns, status
  FROM read_parquet('runs/**/*.parquet', hive_partitioning = true)
  WHERE date > current_date - 30 AND event IN ('proc.exec', 'proc.exit')
)
SELECT x.duration_ns / 1e9 AS seconds, array_to_string(e.argv, ' ') AS command, x.status, x.repo, x.host, x.log
FROM (FROM events WHERE event = 'proc.exit') x
ASOF JOIN (FROM events WHERE event = 'proc.exec') e
  ON x.log_id = e.log_id AND x.pid = e.pid AND x.time_ns >= e.time_ns
ORDER BY x.duration_ns DESC NULLS LAST
LIMIT 10;
