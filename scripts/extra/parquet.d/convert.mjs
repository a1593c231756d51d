// Converts lines of ptrace-dump --json to Parquet as a user of DuckDB does, with one thread, and prints
// the number of rows and the seconds that it took. DuckDB gets the types of the columns: to find them
// out it would read the lines twice.
//
// usage: node convert.mjs EVENTS.jsonl FILE.parquet
import { DuckDBInstance } from '@duckdb/node-api'

const columns = {
	time: 'VARCHAR', sec: 'BIGINT', nsec: 'INTEGER', pid: 'BIGINT', tid: 'BIGINT', event: 'VARCHAR', id: 'INTEGER', class: 'VARCHAR',
	address: 'VARCHAR', truncation: 'VARCHAR', size: 'BIGINT', data: 'VARCHAR', data_base64: 'VARCHAR', span: 'VARCHAR', parent: 'VARCHAR',
	path: 'VARCHAR', argv: 'VARCHAR[]', args: 'VARCHAR[]', result: 'BIGINT', errno: 'INTEGER', errno_name: 'VARCHAR',
	duration_ns: 'BIGINT', returned: 'BOOLEAN', status: 'INTEGER', signal: 'INTEGER', core: 'BOOLEAN', child: 'INTEGER', kind: 'VARCHAR',
	user_ns: 'BIGINT', system_ns: 'BIGINT', maxrss: 'BIGINT', minor_faults: 'BIGINT', major_faults: 'BIGINT', blocks_in: 'BIGINT',
	blocks_out: 'BIGINT', voluntary_switches: 'BIGINT', involuntary_switches: 'BIGINT', newline: 'BOOLEAN', continues: 'BOOLEAN', return: 'BOOLEAN',
}
const quote = s => `'${s.replaceAll("'", "''")}'`
const [from, to] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
const db = await instance.connect()
const types = Object.entries(columns).map(([name, type]) => `${quote(name)}: ${quote(type)}`).join(', ')
const start = process.hrtime.bigint()
const result = await db.runAndReadAll(`COPY (SELECT * FROM read_json(${quote(from)}, format = 'newline_delimited', columns = {${types}}))
	TO ${quote(to)} (FORMAT parquet, COMPRESSION snappy)`)
const seconds = Number(process.hrtime.bigint() - start) / 1e9
console.log(String(result.getRows()[0][0]), seconds)
