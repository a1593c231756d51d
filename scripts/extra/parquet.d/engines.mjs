// The databases that read our Parquet files. Each answers a query with rows whose values are strings,
// booleans, null and lists of these, and reads files by their patterns.
import { createRequire } from 'node:module'
import { DuckDBInstance } from '@duckdb/node-api'

const quote = s => `'${s.replaceAll("'", "''")}'`

const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
const connection = await instance.connect()

export const duckdb = {
	name: 'DuckDB',
	version: async () => (await duckdb.query('SELECT version() AS v'))[0].v,
	async query(sql) {
		return (await connection.runAndReadAll(sql)).getRowObjectsJson()
	},
	// rows returns the rows of a file, in their order.
	async rows(file) {
		const found = await duckdb.query(`SELECT * EXCLUDE (data_binary), base64(data_binary) AS data_base64, epoch_us(time) AS time_us
			FROM read_parquet(${quote(file)}, hive_partitioning = false)`)
		for (const row of found) {
			row.members = Object.fromEntries((row.members ?? []).map(m => [m.key, m.value]))
			row.time_exact = BigInt(row.time_us) === BigInt(row.time_ns) / 1000n // DuckDB rounds to microseconds
		}
		return found
	},
	async lost(file) {
		const [row] = await duckdb.query(`SELECT decode(value) AS lost FROM parquet_kv_metadata(${quote(file)}) WHERE decode(key) = 'posixtrace.lost'`)
		return row.lost
	},
}

// ClickHouse runs in this process: chdb is the server's engine as a library.
const { query, Session } = createRequire(import.meta.url)('chdb')
const settings = 'SETTINGS output_format_json_quote_64bit_integers = 1, output_format_json_escape_forward_slashes = 0, use_hive_partitioning = 0'

const parse = text => text.split('\n').filter(Boolean).map(line => JSON.parse(line))

export const clickhouse = {
	name: 'ClickHouse',
	version: async () => parse(query('SELECT version() AS v', 'JSONEachRow'))[0].v,
	async query(sql) {
		return parse(query(sql, 'JSONEachRow'))
	},
	async rows(file) {
		const found = await clickhouse.query(`SELECT * EXCEPT data_binary, base64Encode(data_binary) AS data_base64,
				toUnixTimestamp64Nano(time) = time_ns AS time_exact
			FROM file(${quote(file)}, Parquet) ORDER BY _row_number ${settings}`)
		for (const row of found) {
			row.time_exact = row.time_exact === 1
			for (const key of ['argv', 'args']) { // a list is never null here
				if (row[key].length === 0) row[key] = null
			}
		}
		return found
	},
	lost: null, // it does not show the metadata of a file
	// session returns a database in a directory, which a session of its own reads and writes.
	session: dir => new Session(dir),
	parse,
}
