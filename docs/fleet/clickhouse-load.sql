-- Loads the files of the tree that the table does not have. repo and date come from the names of the directories.
INSERT INTO events
SELECT date, repo, time, time_ns, log_id, _row_number AS row, host, trace, command, log, pid, tid, event, class, truncation,
       data, data_binary, span, parent, duration_ns, path, argv, args, result, errno_name, status, signal, child,
       user_ns, system_ns, maxrss, processes, threads, descriptors, rss, cpu_ns, read_bytes, written_bytes, group_memory, group_peak,
       group_limit, oom_kills, throttled_ns, cpu_stall_ns, memory_stall_ns, io_stall_ns, members
FROM file('runs/**/*.parquet', Parquet)
WHERE log_id NOT IN (SELECT log_id FROM events)
SETTINGS use_hive_partitioning = 1, max_partitions_per_insert_block = 1000;
