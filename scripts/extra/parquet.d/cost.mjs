// Prints what processor time the databases take for a million events: for scripts/extra/parquet --cost.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clickhouse, duckdb } from './engines.mjs'

const docs = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../../docs/fleet')
const dir = mkdtempSync(join(tmpdir(), 'cost-'))
for (const file of process.argv.slice(2).filter(f => !f.endsWith('job.parquet'))) {
	const [{ n }] = await duckdb.query(`SELECT count(*) AS n FROM '${file}'`)
	const seconds = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1e6
	const began = seconds()
	await duckdb.query(`SELECT event, count(*), quantile_disc(duration_ns, 0.99) FROM '${file}' GROUP BY event`)
	const asked = seconds()
	const session = clickhouse.session(join(dir, String(n)))
	session.query(readFileSync(join(docs, 'clickhouse.sql'), 'utf8'), 'CSV')
	const created = seconds()
	session.query(readFileSync(join(docs, 'clickhouse-load.sql'), 'utf8').replace("'runs/**/*.parquet'", `'${file}'`).replace('SELECT date, repo', "SELECT today(), 'site'"), 'CSV')
	const loaded = seconds()
	const size = execFileSync('du', ['-sb', join(dir, String(n))], { encoding: 'utf8' }).split('\t')[0]
	session.cleanup()
	const scaled = (x, digits) => (x * 1e6 / Number(n)).toFixed(digits)
	console.log(`${file}: of a million, in processor time: DuckDB groups in ${scaled(asked - began, 2)} s, ClickHouse loads in ${scaled(loaded - created, 1)} s and keeps ${scaled(size / 1e6, 1)} MB`)
}
rmSync(dir, { recursive: true })
process.exit()
