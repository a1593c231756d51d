-- A table for the events of all machines. A day is a partition; after 90 days it is dropped.
CREATE TABLE IF NOT EXISTS events (
  date        Date,
  repo        LowCardinality(String),
  time        DateTime64(9, 'UTC') CODEC(Delta, ZSTD),
  time_ns     Int64 CODEC(Delta, ZSTD),
  log_id      LowCardinality(String),
  row         UInt64 CODEC(Delta, ZSTD),
  host        LowCardinality(String),
  trace       LowCardinality(String),
  command     LowCardinality(String),
  log         LowCardinality(String),
  pid         Int64,
  tid         Int64,
  event       LowCardinality(String),
  class       LowCardinality(String),
  truncation  LowCardinality(String),
  data        Nullable(String) CODEC(ZSTD),
  data_binary Nullable(String) CODEC(ZSTD),
  span        Nullable(UInt64),
  parent      Nullable(UInt64),
  duration_ns Nullable(Int64),
  path        Nullable(String) CODEC(ZSTD),
  argv        Array(String) CODEC(ZSTD),
  args        Array(String) CODEC(ZSTD),
  result      Nullable(Int64),
  errno_name  LowCardinality(Nullable(String)),
  status      Nullable(Int32),
  signal      Nullable(Int32),
  child       Nullable(Int32),
  user_ns     Nullable(Int64),
  system_ns   Nullable(Int64),
  maxrss      Nullable(Int64),
  members     Map(LowCardinality(String), String) CODEC(ZSTD)
) ENGINE = ReplacingMergeTree
PARTITION BY date
ORDER BY (repo, event, log_id, row)
TTL date + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1;
