// Compares Parquet files with what our own programs show of the same logs, as DuckDB reads the files.
//
// usage: node agree.mjs rows FILE.parquet EVENTS.jsonl    each row against a line of ptrace-dump --json
//        node agree.mjs p99 GLOB NAME P99 COUNT           the durations of a span over many files
//        node agree.mjs lost FILE.parquet LOST            the number of lost events in the metadata
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
const db = await instance.connect()
const query = async sql => (await db.runAndReadAll(sql)).getRowObjectsJson()
const quote = s => `'${s.replaceAll("'", "''")}'`

// expected returns a line of JSON in the columns of a row.
function expected(ev) {
	const rest = { ...ev }
	const take = key => {
		const v = rest[key]
		delete rest[key]
		return v === undefined ? null : v
	}
	const row = {
		time_ns: String(BigInt(take('sec')) * 1000000000n + BigInt(take('nsec'))),
		pid: String(take('pid')), tid: String(take('tid')), event: take('event'), id: take('id'), class: take('class'),
		address: String(BigInt(take('address'))), truncation: take('truncation'), size: String(take('size')),
		data: take('data'), data_base64: take('data_base64'), path: take('path'), argv: take('argv'), args: take('args'),
		errno: take('errno'), errno_name: take('errno_name'), status: take('status'), signal: take('signal'), child: take('child'),
	}
	for (const key of ['span', 'parent']) {
		const v = take(key)
		row[key] = v === null ? null : String(BigInt(v))
	}
	for (const key of ['result', 'user_ns', 'system_ns', 'maxrss']) {
		const v = take(key)
		row[key] = v === null ? null : String(v)
	}
	if (row.errno_name === null && row.errno !== null) delete row.errno_name // of posix_trace_error
	for (const key of ['time', 'duration_ns']) delete rest[key]
	for (const [key, usual] of [['newline', true], ['continues', false], ['return', false], ['returned', true], ['restarted', false]])
		if (rest[key] === usual) delete rest[key]
	row.members = {}
	for (const [key, v] of Object.entries(rest)) row.members[key] = key === 'stack' ? JSON.stringify(v) : String(v)
	return row
}

// blur hides texts that are not UTF-8: JSON has replacement characters there, a row escapes the bytes.
function blur(want, got) {
	let hidden = false
	for (const key of Object.keys(want)) {
		if (typeof want[key] === 'string' && want[key].includes('\ufffd')) {
			want[key] = got[key] = ''
			hidden = true
		} else if (want[key] && typeof want[key] === 'object' && typeof got[key] === 'object' && got[key]) {
			hidden = blur(want[key], got[key]) || hidden
		}
	}
	return hidden
}

async function rows(file, json) {
	const lines = readFileSync(json, 'utf8').split('\n').filter(Boolean).map(l => JSON.parse(l))
	const found = await query(`SELECT * EXCLUDE (data_binary), base64(data_binary) AS data_base64 FROM read_parquet(${quote(file)})`)
	assert.equal(found.length, lines.length, `${file}: rows`)
	for (const [i, ev] of lines.entries()) {
		const want = expected(ev)
		const got = {}
		for (const key of Object.keys(want)) got[key] = found[i][key]
		got.members = Object.fromEntries((found[i].members ?? []).map(m => [m.key, m.value]))
		if (blur(want, got) && want.class === 'system' && want.data === null && want.data_base64 === null) {
			// The row has the whole data besides.
			assert.equal(Buffer.from(got.data_base64, 'base64').length, Number(want.size))
			got.data_base64 = null
		}
		assert.deepEqual(got, want, `${file}: row ${i}`)
		if (ev.duration_ns !== undefined) assert.equal(found[i].duration_ns, String(ev.duration_ns), `${file}: row ${i}`)
	}
	console.log(`${file}: ${lines.length} rows agree`)
}

async function p99(glob, name, want, count) {
	const [row] = await query(`SELECT quantile_disc(duration_ns, 0.99) AS p99, count(*) AS n, count(DISTINCT log_id) AS logs
		FROM read_parquet(${quote(glob)}) WHERE event = ${quote(name + '.end')}`)
	assert.deepEqual([row.p99, row.n], [want, count])
	console.log(`p99 of ${name} is ${row.p99} ns, over ${row.logs} logs`)
}

async function lost(file, want) {
	const [row] = await query(`SELECT decode(value) AS lost FROM parquet_kv_metadata(${quote(file)}) WHERE decode(key) = 'posixtrace.lost'`)
	assert.equal(row.lost, want)
}

await { rows, p99, lost }[process.argv[2]](...process.argv.slice(3))
