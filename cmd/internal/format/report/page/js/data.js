// The data of the report. A column of numbers is a string: base64 of unsigned LEB128.

class DataError extends Error {}

// decodeColumn decodes n numbers into an array of the given type; each is below the limit. A number
// instead of a string is the value of all.
function decodeColumn(text, n, Type, limit, name) {
	if (typeof text === "number") {
		if (n > 0 && !(text >= 0 && text < limit)) throw new DataError(name + ": " + text + " is out of range");
		return new Type(n).fill(text);
	}
	let bytes;
	try {
		bytes = atob(text);
	} catch (e) {
		throw new DataError(name + ": not base64");
	}
	const values = new Type(n), length = bytes.length;
	let at = 0;
	for (let i = 0; i < n; i++) {
		let value = 0, scale = 1, byte;
		do {
			if (at === length || scale > 2 ** 63) throw new DataError(name + ": ends early");
			byte = bytes.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		if (value >= limit) throw new DataError(name + ": " + value + " is out of range");
		values[i] = value;
	}
	if (at !== length) throw new DataError(name + ": too long");
	return values;
}

// decodeTimes decodes differences into times.
function decodeTimes(text, n, name) {
	const times = decodeColumn(text, n, Float64Array, Infinity, name);
	for (let i = 1; i < n; i++) times[i] += times[i - 1];
	return times;
}

function decodeRun(json, index) {
	const strings = json.strings, lanes = json.lanes.n, S = strings.length;
	const int = (table, column, limit) => decodeColumn(json[table][column], json[table].n, Int32Array, limit, table + "." + column);
	const run = {
		index, name: json.name, label: json.label, strings,
		start: BigInt(json.start), length: Math.max(1, json.length),
		missing: json.missing || [], omitted: json.omitted || {},
		lanes: { n: lanes, name: int("lanes", "name", S), parent: int("lanes", "parent", lanes + 1), pid: int("lanes", "pid", 2 ** 31), tid: int("lanes", "tid", 2 ** 31), kind: int("lanes", "kind", 256) },
		spans: {
			n: json.spans.n, start: decodeTimes(json.spans.start, json.spans.n, "spans.start"),
			dur: decodeColumn(json.spans.dur, json.spans.n, Float64Array, Infinity, "spans.dur"),
			lane: int("spans", "lane", lanes), depth: int("spans", "depth", 65536), name: int("spans", "name", S), text: int("spans", "text", S),
			kind: int("spans", "kind", 256), flags: int("spans", "flags", 256), status: int("spans", "status", 2 ** 31), count: int("spans", "count", 2 ** 31),
			paste: int("spans", "paste", S),
		},
		marks: {
			n: json.marks.n, time: decodeTimes(json.marks.time, json.marks.n, "marks.time"), lane: int("marks", "lane", lanes + 1),
			type: int("marks", "type", S), text: int("marks", "text", S), count: int("marks", "count", 2 ** 31),
		},
		lines: {
			n: json.lines.n, time: decodeTimes(json.lines.time, json.lines.n, "lines.time"), stream: int("lines", "stream", 256),
			lane: int("lines", "lane", lanes + 1), joined: json.lines.text, gap: json.lines.gap, end: json.lines.end,
		},
	};
	Object.defineProperty(run.lines, "text", { get: splitLines });
	decodeChain(run, json.chain || []);
	decodeCurves(run, json.curves);
	decodeUsage(run, json.usage);
	return run;
}

// splitLines splits the captured output when it is first read, after the first picture.
function splitLines() {
	if (!this.list) {
		this.list = this.n ? this.joined.split("\n") : [];
		this.joined = "";
		while (this.list.length < this.n) this.list.push("");
	}
	return this.list;
}

function decodeChain(run, chain) {
	run.chain = chain.filter(([span]) => span >= 0 && span < run.spans.n);
	run.onChain = new Uint8Array(run.spans.n);
	for (let i = 0; i < run.spans.n; i++) if (run.spans.flags[i] & flag.chain) run.onChain[i] = 1;
	for (const [span] of run.chain) run.onChain[span] = 1;
}

function decodeCurves(run, curves) {
	const n = (curves && curves.n) || 0;
	run.curves = {
		n, time: n ? decodeTimes(curves.time, n, "curves.time") : [],
		running: n ? decodeColumn(curves.running, n, Float64Array, Infinity, "curves.running") : [],
		events: n ? decodeColumn(curves.events, n, Float64Array, Infinity, "curves.events") : [],
	};
}

// decodeUsage decodes the areas of memory and of processors in use, by program.
function decodeUsage(run, usage) {
	const n = (usage && usage.n) || 0;
	run.usage = { n, time: n ? decodeTimes(usage.time, n, "usage.time") : [], programs: [] };
	if (n) for (const { name, others, memory, processors } of usage.programs) {
		run.usage.programs.push({
			name, others, memory: decodeColumn(memory, n, Float64Array, Infinity, "usage.memory"),
			processors: decodeColumn(processors, n, Float64Array, Infinity, "usage.processors").map(p => p / 1000),
		});
	}
}

const flag = { failed: 1, unfinished: 2, overlaps: 4, chain: 8, merged: 16, signal: 32, tolerated: 64 };
const lineFlag = { error: 2, returned: 4 }; // standard error; ended by a carriage return
const kindNames = ["process", "span", "system call"];

function decodeReport(text) {
	let json;
	try {
		json = JSON.parse(text);
	} catch (e) {
		throw new DataError("it was cut");
	}
	if (json.version !== 1) throw new DataError("version " + json.version + " is unknown");
	return json.runs.map(decodeRun);
}
