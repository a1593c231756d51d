// Compares Parquet files with what our own programs show of the same logs, as databases read the files.
//
// usage: node agree.mjs rows DIR          each row of each DIR/*.parquet against a line of DIR/*.jsonl, which
//                                         ptrace-dump --json wrote; lost events against DIR/*.lost
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clickhouse, duckdb } from './engines.mjs'

const map = 22 // proc.map, which ptrace-dump shows only on request

// parse reads a line of JSON. Integers that a number of JavaScript cannot hold become strings.
const parse = line => JSON.parse(line.replaceAll(/("(?:[^"\\]|\\.)*")|(-?\d{16,})/g, (all, text, number) => text ?? `"${number}"`))

// The columns of samples, of which these have 32 bits.
const numbers = new Set(['processes', 'threads', 'descriptors'])
const sampled = [...numbers, 'rss', 'cpu_ns', 'read_bytes', 'written_bytes', 'group_memory', 'group_peak', 'group_limit', 'oom_kills', 'throttled_ns',
	'cpu_stall_ns', 'memory_stall_ns', 'io_stall_ns']

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
	for (const key of sampled) {
		const v = take(key)
		row[key] = v === null ? null : numbers.has(key) ? v : String(v)
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

// compare compares what a database found in a file with the lines of JSON.
function compare(file, lines, found) {
	if (!lines.some(ev => ev.id === map)) found = found.filter(row => row.id !== map)
	assert.equal(found.length, lines.length, `${file}: rows`)
	for (const [i, ev] of lines.entries()) {
		const want = expected(ev)
		const row = found[i]
		const got = {}
		for (const key of Object.keys(want)) got[key] = row[key]
		for (const key of ['argv', 'args']) {
			if (got[key]?.length === 0) got[key] = null
			if (want[key]?.length === 0) want[key] = null
		}
		if (blur(want, got) && want.class === 'system' && want.data_base64 === null && got.data_base64 !== null) {
			// The row has the whole data besides.
			assert.equal(Buffer.from(got.data_base64, 'base64').length, Number(want.size))
			got.data_base64 = null
		}
		assert.deepEqual(got, want, `${file}: row ${i}`)
		assert.ok(row.time_exact, `${file}: row ${i}: time ${row.time} of ${row.time_ns}`)
		if (ev.duration_ns !== undefined) assert.equal(row.duration_ns, String(ev.duration_ns), `${file}: row ${i}`)
	}
}

async function rows(dir) {
	const names = readdirSync(dir).filter(name => name.endsWith('.parquet')).map(name => name.slice(0, -'.parquet'.length))
	assert.ok(names.length > 0, `no files in ${dir}`)
	for (const db of [duckdb, clickhouse]) {
		let n = 0, lossy = 0
		for (const name of names) {
			const file = join(dir, name)
			const lines = readFileSync(file + '.jsonl', 'utf8').split('\n').filter(Boolean).map(parse)
			compare(`${db.name}: ${name}`, lines, await db.rows(file + '.parquet'))
			if (db.lost && existsSync(file + '.lost')) {
				const want = readFileSync(file + '.lost', 'utf8').trim()
				assert.equal(await db.lost(file + '.parquet'), want, `${db.name}: ${name}: lost events`)
				if (want !== '0') lossy++
			}
			n += lines.length
		}
		console.log(`${db.name} ${await db.version()}: ${n} rows of ${names.length} files agree${lossy ? `, ${lossy} with lost events` : ''}`)
	}
}

await { rows }[process.argv[2]](...process.argv.slice(3))
process.exit() // ClickHouse leaves threads
