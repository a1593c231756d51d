// Writes the data of a report independently of package report, so that the page's decoder is tested
// against the format and not against one program.

export function varints(values) {
	const bytes = [];
	for (let v of values) {
		if (!(v >= 0 && Number.isSafeInteger(v))) throw new Error("not a number for a column: " + v);
		for (; v > 127; v = Math.floor(v / 128)) bytes.push((v % 128) | 128);
		bytes.push(v);
	}
	return Buffer.from(bytes).toString("base64");
}

export function differences(values) {
	return varints(values.map((v, i) => v - (i ? values[i - 1] : 0)));
}

// A report leaves out of a line the sequences that erase behind the cursor, as gcc writes them after colours.
const erasing = /\x1b\[0?K/g;

// Characters that a report has as escapes only.
const hidden = /[\0-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

function escaped(c) {
	return c === "\n" ? "\\n" : Array.from(Buffer.from(c), byte => "\\x" + byte.toString(16).padStart(2, "0")).join("");
}

// marked is a line of output with marks around its escapes, and with its colours.
function marked(text) {
	return text.replace(erasing, "").replace(hidden, (c, at, whole) => (/^\x1b\[[0-9;:]{0,61}m/.test(whole.slice(at, at + 64)) ? c : "\ufdd0" + escaped(c) + "\ufdd1"));
}

// Trace collects lanes, spans, marks and lines, in any order, and writes the JSON of a run.
export class Trace {
	constructor(name, length, label = "") {
		Object.assign(this, { name, length, label, strings: [""], ids: new Map([["", 0]]), lanes: [], spans: [], marks: [], lines: [], missing: [], chain: [], curves: null, omitted: {} });
	}

	string(s) {
		s = s.replace(hidden, escaped);
		if (!this.ids.has(s)) this.ids.set(s, this.strings.push(s) - 1);
		return this.ids.get(s);
	}

	lane(name, parent = -1, pid = 100 + this.lanes.length, kind = 0, tid = pid) {
		return this.lanes.push({ name: this.string(name), parent: parent + 1, pid, tid, kind }) - 1;
	}

	span(lane, start, dur, name, { depth = 0, text = "", kind = 0, flags = 0, status = 0, count = 1, paste = "" } = {}) {
		const s = { lane, start, dur, name: this.string(name), depth, text: this.string(text), kind, flags, status, count, paste: this.string(paste) };
		this.spans.push(s);
		return s;
	}

	mark(lane, time, type, text = "", count = 1) {
		this.marks.push({ time, lane: lane + 1, type: this.string(type), text: this.string(text), count });
	}

	line(time, text, stream = 1, lane = -1) {
		this.lines.push({ time, text: marked(text), stream, lane: lane + 1 });
	}

	// use sets the memory in bytes and the processors in use of programs at these times: [name, memory, processors].
	use(times, programs) {
		this.used = {
			n: times.length, time: differences(times),
			programs: programs.map(([name, memory, processors]) => ({ name: name.replace(hidden, escaped), others: name === "others", memory: varints(memory), processors: varints(processors.map(p => Math.round(p * 1000))) })),
		};
	}

	json() {
		this.spans.sort((a, b) => a.start - b.start || a.depth - b.depth);
		this.marks.sort((a, b) => a.time - b.time);
		const columns = (list, names, times) => {
			const o = { n: list.length };
			for (const n of names) o[n] = n === times ? differences(list.map(x => x[n])) : varints(list.map(x => x[n]));
			return o;
		};
		return {
			name: this.name, label: this.label, start: "1763000000123456789", length: this.length, strings: this.strings,
			lanes: columns(this.lanes, ["name", "parent", "pid", "tid", "kind"]),
			spans: columns(this.spans, ["start", "dur", "lane", "depth", "name", "text", "kind", "flags", "status", "count", "paste"], "start"),
			marks: columns(this.marks, ["time", "lane", "type", "text", "count"], "time"),
			lines: { ...columns(this.lines, ["time", "stream", "lane"], "time"), text: this.lines.map(l => l.text).join("\n"), gap: -1, end: this.end ?? -1 },
			missing: this.missing, curves: this.curves || { n: 0, time: "", running: "", events: "" },
			chain: this.chain.map(([s, from, dur]) => [this.spans.indexOf(s), from, dur]), omitted: this.omitted,
			usage: this.used ?? { n: 0 },
		};
	}
}

export function reportJSON(title, traces) {
	return JSON.stringify({ version: 1, title, runs: traces.map(t => t.json()) }).replace(/[<>&\u2028\u2029]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// curvesOf counts what runs and what happens in each of n steps.
export function curvesOf(trace, n) {
	const step = trace.length / n, running = new Array(n).fill(0), events = new Array(n).fill(0);
	for (const s of trace.spans) {
		const from = Math.min(n - 1, Math.floor(s.start / step)), to = Math.min(n - 1, Math.floor((s.start + s.dur) / step));
		if (s.kind === 0) for (let i = from; i <= to; i++) running[i]++;
		events[from]++;
		events[to]++;
	}
	for (const l of trace.lines) events[Math.min(n - 1, Math.floor(l.time / step))]++;
	const time = Array.from({ length: n }, (_, i) => Math.floor(i * step));
	trace.curves = { n, time: differences(time), running: varints(running), events: varints(events) };
}
