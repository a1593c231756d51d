-- The p99 of each step, month by month: the nearest rank, as p99.sql computes it.
SELECT formatDateTime(date, '%Y-%m') AS month, repo, replaceRegexpOne(event, '[.]end$', '') AS step, count() AS runs,
       arraySort(groupArray(duration_ns))[intDiv(count() * 99 + 99, 100)] / 1e6 AS p99_ms
FROM events FINAL
WHERE event LIKE '%.end' AND duration_ns IS NOT NULL
GROUP BY month, repo, step
ORDER BY month, repo, step;
