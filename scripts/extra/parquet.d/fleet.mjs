// Asks the questions of docs/fleet of a tree of Parquet files, and compares the answers with what
// ptrace-dump and a program in Go say of the logs.
//
// usage: node fleet.mjs STORE QUERIES SESSION
//
// STORE has runs/repo=R/date=D/*.parquet and logs/repo=R/date=D/HOST-N.trace. QUERIES is docs/fleet.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { clickhouse, duckdb } from './engines.mjs'

const [store, queries, dir] = process.argv.slice(2)
process.chdir(store)
const sql = name => readFileSync(join(queries, name), 'utf8')
const day = 24 * 3600 * 1000
const today = new Date().toISOString().slice(0, 10)
const agreed = []

// run returns what a program prints. It fails only if the program does not start.
function run(...command) {
	const out = spawnSync(command[0], command.slice(1), { encoding: 'utf8', maxBuffer: 1 << 28 })
	assert.ok(!out.error, String(out.error))
	return out
}

// The logs, as ptrace-dump shows them.
const logs = readdirSync('logs', { recursive: true }).filter(name => name.endsWith('.trace')).map(name => {
	const [, repo, date] = name.match(/repo=([^/]*)\/date=([^/]*)\//)
	const out = run('ptrace-dump', '-j', '-e', '@all,proc.map', join('logs', name))
	const events = out.stdout.split('\n').filter(Boolean).map(line => JSON.parse(line))
	const log = { name, file: basename(name), repo, date, host: basename(name).replace(/-[0-9]*\.trace$/, ''), events: events.length, steps: [], commands: [] }
	log.recent = Date.parse(today) - Date.parse(date) < 30 * day
	log.lost = Number(out.stderr.match(/ ([0-9]+) events? w/)?.[1] ?? 0)
	const begins = new Map(), started = new Map()
	for (const ev of events) {
		const at = BigInt(ev.sec) * 1000000000n + BigInt(ev.nsec)
		const step = ev.event.replace(/[.](begin|end)$/, '')
		if (ev.event.endsWith('.begin')) begins.set(step, at)
		if (ev.event.endsWith('.end')) log.steps.push({ step, at, ns: at - begins.get(step), failed: ev.data !== '0', log })
		if (ev.event === 'proc.exec') started.set(ev.pid, { at, command: ev.argv.join(' ') })
		if (ev.event === 'proc.exit' && started.has(ev.pid)) {
			const { at: from, command } = started.get(ev.pid)
			log.commands.push({ ns: at - from, command, status: ev.status, log })
		}
	}
	return log
})
const steps = logs.flatMap(log => log.steps)
const group = (list, key) => Map.groupBy ? Map.groupBy(list, key) : list.reduce((m, x) => m.set(key(x), [...(m.get(key(x)) ?? []), x]), new Map())
const rank = (list, q) => list.map(s => s.ns).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[Math.ceil(list.length * q) - 1]
const ms = ns => Number(ns) / 1e6

function agree(name, found, want) {
	assert.ok(want.length > 0, `${name}: nothing to compare`)
	const text = row => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, String(v)]))
	assert.deepEqual(found.map(text), want.map(text), name)
	console.log(name)
	console.table(found.slice(0, 4))
	agreed.push(`${name} (${want.length} rows)`)
}

// p99.sql: the program in Go reads the logs by itself.
const months = [...group(steps, s => `${s.log.date.slice(0, 7)} ${s.log.repo} ${s.step}`)].sort(([a], [b]) => (a < b ? -1 : 1))
const p99 = months.map(([key, list]) => {
	const [month, repo, step] = key.split(' ')
	const names = [...new Set(list.map(s => join('logs', s.log.name)))]
	const [value, count] = run('p99', step, ...names).stdout.trim().split(' ')
	assert.equal(Number(count), list.length)
	return { month, repo, step, runs: count, p99_ms: ms(value) }
})
agree('p99.sql', await duckdb.query(sql('p99.sql')), p99)

const slowest = logs.filter(log => log.recent).flatMap(log => log.commands).sort((a, b) => (a.ns < b.ns ? 1 : a.ns > b.ns ? -1 : 0)).slice(0, 10)
agree('slowest.sql', await duckdb.query(sql('slowest.sql')), slowest.map(c =>
	({ seconds: Number(c.ns) / 1e9, command: c.command, status: c.status, repo: c.log.repo, host: c.log.host, log: c.log.file })))

agree('failed.sql', await duckdb.query(sql('failed.sql')), [...group(steps, s => `${s.log.repo} ${s.step}`).values()].map(list => {
	const failed = list.filter(s => s.failed)
	const last = failed.reduce((a, b) => (a && a.at > b.at ? a : b), undefined)
	return { repo: list[0].log.repo, step: list[0].step, runs: list.length, failed: failed.length,
		last: failed.map(s => s.log.date).sort().at(-1), log: last?.log.file }
}).filter(row => row.failed > 0).sort((a, b) => b.failed - a.failed || (a.repo + ' ' + a.step < b.repo + ' ' + b.step ? -1 : 1)))

agree('lost.sql', await duckdb.query(sql('lost.sql')), logs.filter(log => log.lost > 0).sort((a, b) => b.lost - a.lost || (a.file < b.file ? -1 : 1))
	.map(log => ({ log: log.file, host: log.host, events: log.events, lost: log.lost, state: 'finished' })))

agree('slower.sql', await duckdb.query(sql('slower.sql')), [...group(steps, s => `${s.log.repo} ${s.step}`).values()].map(list => {
	const before = rank(list.filter(s => !s.log.recent), 0.5), after = rank(list.filter(s => s.log.recent), 0.5)
	return { repo: list[0].log.repo, step: list[0].step, before_ms: ms(before), after_ms: ms(after) }
}).filter(row => row.after_ms > 1.2 * row.before_ms && row.after_ms - row.before_ms > 1).sort((a, b) => b.after_ms / b.before_ms - a.after_ms / a.before_ms))

// compact.sql: the same rows, and what the metadata says of their logs.
const compacted = [...new Set(logs.map(log => log.date))].sort()[0]
await duckdb.query(`SET VARIABLE day = DATE '${compacted}'`)
for (const statement of sql('compact.sql').split(/;\n/).filter(s => s.trim())) await duckdb.query(statement)
const columns = 'repo, log_id, time_ns, event, pid, tid, data, data_binary, duration_ns, path, argv, result, errno_name, status, members'
const select = from => `SELECT ${columns} FROM read_parquet('${from}/**/*.parquet', hive_partitioning = true) WHERE date = DATE '${compacted}'`
const [rows] = await duckdb.query(`SELECT (SELECT count(*) FROM (${select('runs')})) AS before, (SELECT count(*) FROM (${select('compact')})) AS after,
	(SELECT count(*) FROM (${select('runs')} EXCEPT ALL ${select('compact')})) AS differ`)
assert.deepEqual([rows.after, rows.differ], [rows.before, '0'], 'compact.sql')
const [table] = await duckdb.query(`SELECT count(*) AS logs, sum(lost)::BIGINT AS lost, sum(events)::BIGINT AS events FROM 'logs/**/*.parquet'`)
const those = logs.filter(log => log.date === compacted)
const sum = f => those.reduce((n, log) => n + f(log), 0)
agree('compact.sql', [table], [{ logs: those.length, lost: sum(log => log.lost), events: sum(log => log.events) }])

// ClickHouse: the same answer, also after the files have been loaded twice, and nothing of an expired day.
const session = clickhouse.session(dir)
const ask = text => clickhouse.parse(session.query(text, 'JSONEachRow') ?? '')
const count = () => Number(ask('SELECT count() AS n FROM events')[0].n)
ask(sql('clickhouse.sql'))
ask(sql('clickhouse-load.sql'))
const loaded = count()
assert.equal(loaded, logs.reduce((n, log) => n + log.events, 0), 'clickhouse-load.sql: rows')
ask(sql('clickhouse-load.sql'))
assert.equal(count(), loaded, 'clickhouse-load.sql: rows of a second load')
agree('clickhouse-p99.sql', ask(sql('clickhouse-p99.sql')), p99)
ask(sql('clickhouse-load.sql').replace('SELECT date, repo', "SELECT date - 200, repo").replace(/WHERE .*\n/, ''))
ask('OPTIMIZE TABLE events FINAL')
assert.equal(count(), loaded, 'clickhouse.sql: rows after the expiry of a day')
const twice = sql('clickhouse-load.sql').replace(/WHERE .*\n/, '') // by two loaders at the same time
ask(twice)
assert.ok(count() > loaded)
ask('OPTIMIZE TABLE events FINAL')
assert.equal(count(), loaded, 'clickhouse.sql: rows loaded twice')
session.cleanup()

console.log(`${logs.length} logs of ${new Set(logs.map(log => log.host)).size} hosts, ${logs.reduce((n, log) => n + log.events, 0)} events: ${agreed.join(', ')} agree`)
process.exit()
