-- The logs that lost events or are not whole. The metadata of each file knows.
WITH files AS (
  SELECT json(decode(value)) AS logs
  FROM parquet_kv_metadata('runs/**/*.parquet')
  WHERE decode(key) = 'posixtrace.logs'
)
SELECT l.log, l.host, l.events, l.lost, l.state
FROM (
  SELECT unnest(from_json(logs, '[{"log": "VARCHAR", "host": "VARCHAR", "events": "UBIGINT", "lost": "UBIGINT", "state": "VARCHAR"}]')) AS l
  FROM files
)
WHERE l.lost > 0 OR l.state <> 'finished'
ORDER BY l.lost DESC, l.log;
