-- The many small files of one day become one file for each repository, beside a table of their logs.
-- Set the day first: SET VARIABLE day = DATE '2026-11-22';
COPY (
  SELECT * FROM read_parquet('runs/**/*.parquet', hive_partitioning = true)
  WHERE date = getvariable('day')
  ORDER BY repo, event, time_ns
) TO 'compact' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (repo, date), OVERWRITE_OR_IGNORE);

COPY (
  SELECT unnest(from_json(json(decode(value)), '[{"log_id": "VARCHAR", "log": "VARCHAR", "host": "VARCHAR", "boot_id": "VARCHAR",
    "trace": "VARCHAR", "created": "VARCHAR", "events": "UBIGINT", "lost": "UBIGINT", "state": "VARCHAR"}]'), recursive := true),
    getvariable('day') AS date
  FROM parquet_kv_metadata('runs/**/*.parquet')
  WHERE decode(key) = 'posixtrace.logs' AND file_name LIKE '%/date=' || getvariable('day') || '/%'
) TO 'logs' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date), OVERWRITE_OR_IGNORE);
