// The page's scripts that need no browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import vm from "node:vm";
import { Trace, differences, varints } from "./encode.mjs";

const js = path.join(path.dirname(new URL(import.meta.url).pathname), "../page/js");
const names = ["format", "escape", "ansi", "data", "tree", "groups", "lanes", "axis", "curves"];
const exported = ["decodeColumn", "decodeTimes", "decodeReport", "DataError", "parseLine", "plainStyle", "plainText", "visible", "characters", "beginning", "withoutColours", "excerpt", "duration", "clock", "percent", "ticks", "tickLabel", "grow", "Layout", "around", "inside", "spanAt", "eventRate", "busiest", "groupOf", "groupLeast", "Tally"];
const page = vm.runInThisContext("(() => {" + names.map(n => fs.readFileSync(path.join(js, n + ".js"), "utf8")).join("\n") + "\nreturn {" + exported.join(",") + "}; })()");

test("columns of numbers", () => {
	const values = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER];
	assert.deepEqual([...page.decodeColumn(varints(values), values.length, Float64Array, Infinity, "x")], values);
	assert.deepEqual([...page.decodeColumn(7, 3, Int32Array, 8, "x")], [7, 7, 7]);
	assert.deepEqual([...page.decodeColumn(0, 0, Int32Array, 0, "x")], []);
	assert.deepEqual([...page.decodeTimes(differences([5, 5, 900]), 3, "x")], [5, 5, 900]);
	for (const [text, n, limit] of [["", 1, 10], ["gA==", 1, 10], [varints([1, 2]), 1, 10], [varints([10]), 1, 10], ["!", 1, 10], [10, 1, 10], ["/////////////////w==", 1, Infinity]]) {
		assert.throws(() => page.decodeColumn(text, n, Int32Array, limit, "x"), page.DataError, JSON.stringify([text, n]));
	}
});

test("a report that was cut, or is of another version", () => {
	const text = JSON.stringify({ version: 1, runs: [new Trace("a", 10).json()] });
	assert.equal(page.decodeReport(text)[0].length, 10);
	for (let n = 0; n < text.length; n += 7) assert.throws(() => page.decodeReport(text.slice(0, n)), page.DataError);
	assert.throws(() => page.decodeReport('{"version":2,"runs":[]}'), /version 2 is unknown/);
});

const styles = text => page.parseLine(text, page.plainStyle).segments.map(s => [s.text, Object.fromEntries(Object.entries(s.style).filter(([k, v]) => v !== page.plainStyle[k]))]);

test("colours of a terminal", () => {
	for (const [text, want] of [
		["plain", [["plain", {}]]],
		["\x1b[31mred\x1b[0m x", [["red", { fg: 1 }], [" x", {}]]],
		["\x1b[1;4;92;41mx\x1b[22;24;39;49my", [["x", { bold: true, underline: true, fg: 10, bg: 1 }], ["y", {}]]],
		["\x1b[38;5;9mx\x1b[38;5;16my\x1b[48;5;255mz", [["x", { fg: 9 }], ["y", { fg: [0, 0, 0] }], ["z", { fg: [0, 0, 0], bg: [238, 238, 238] }]]],
		["\x1b[38;2;1;2;3;1mx", [["x", { fg: [1, 2, 3], bold: true }]]],
		["\x1b[38:2::1:2:3mx\x1b[38:2:4:5:6my", [["x", { fg: [1, 2, 3] }], ["y", { fg: [4, 5, 6] }]]],
		["\x1b[38;5;256mx\x1b[38;2;1;2;999my\x1b[38mz", [["x", {}], ["y", {}], ["z", {}]]],
		["\x1b[01;35mwarning\x1b[m", [["warning", { bold: true, fg: 5 }]]],
		["\x1b[7mx\x1b[27m\x1b[3my\x1b[9mz", [["x", { inverse: true }], ["y", { italic: true }], ["z", { italic: true, strike: true }]]],
		["a\ufdd0\\x1b\ufdd1[2Jb", [["a\ufdd0\\x1b\ufdd1[2Jb", {}]]], // escaped: not a colour
		["\x1b[" + "1;".repeat(60) + "mx", [["\x1b[" + "1;".repeat(60) + "mx", {}]]],
	]) assert.deepEqual(styles(text), want, JSON.stringify(text));
	assert.equal(page.parseLine("\x1b[31mx", page.plainStyle).style.fg, 1); // the next line goes on in red
	assert.equal(page.parseLine("x\x1b[m", { ...page.plainStyle, fg: 1 }).style, page.plainStyle);
	assert.equal(page.plainText("\x1b[1mx\ufdd0\\x07\ufdd1y\x1b[0m"), "x\\x07y");
});

test("texts", () => {
	assert.equal(page.visible("tab\there é 日本 🙂"), "tab\there é 日本 🙂");
	assert.equal(page.visible("a\ufdd0\\x1b\ufdd1\ufdd0\\x07\ufdd1b"), "a\\x1b\\x07b");
	assert.equal(page.excerpt("xxx🙂x", 4), "xxx…");
	assert.equal(page.excerpt("x".repeat(9), 4), "xxxx…");
	const escape = "\ufdd0\\x1b\ufdd1";
	assert.equal(page.excerpt("a" + escape.repeat(3) + "b", 3), "a\\x1b\\x1b…");
	assert.equal(page.excerpt("a" + escape.repeat(3) + "b", 5), "a\\x1b\\x1b\\x1bb");
	assert.equal(page.characters("a" + escape.repeat(3) + "b"), 5);
	for (const text of [escape.repeat(9), "a" + escape + "bc" + escape + "\x1b[1m🙂x\x1b[38;5;208m", "\ufdd0cut", "x\ufdd0", "plain"]) {
		for (let n = 1; n < 40; n++) {
			const part = page.beginning(text, n), count = page.characters(part);
			assert.ok(text.startsWith(part) && count <= n && (part === text || count > n - 20), n + " of " + JSON.stringify(text));
			if (part !== text) assert.ok(!/\ufdd0[^\ufdd1]*$|\x1b[^m]*$|[\ud800-\udbff]$/.test(part), n + " of " + JSON.stringify(text));
		}
	}
});

test("durations and the scale of time", () => {
	for (const [ns, want] of [[0, "0ns"], [532, "532ns"], [1234, "1.23µs"], [999999, "1ms"], [735e6, "735ms"], [2.384e9, "2.38s"], [59.99e9, "1m00s"], [125e9, "2m05s"], [3723e9, "1h02m03s"], [-5e6, "-5ms"]]) {
		assert.equal(page.duration(ns), want);
	}
	assert.equal(page.percent(0.423), "42 %");
	assert.equal(page.percent(0.0423), "4.2 %");
	for (const length of [20, 1e3, 12345, 1e6, 1e9, 7e9, 61e9, 3600e9, 86400e9 * 30]) {
		const { step, list } = page.ticks(length / 3, length, 1000);
		assert.ok(list.length >= 2 && list.length <= 12, length + ": " + list);
		assert.equal(new Set(list.map(t => page.tickLabel(t, step))).size, list.length, "labels of " + length + ": " + list.map(t => page.tickLabel(t, step)));
	}
});

function run(build) {
	const t = new Trace("t", 1000);
	build(t);
	const [r] = page.decodeReport(JSON.stringify({ version: 1, runs: [t.json()] }));
	page.grow(r);
	return r;
}

test("lanes that overlap in time get rows of their own", () => {
	const r = run(t => {
		const root = t.lane("root");
		t.span(root, 0, 1000, "root");
		for (let i = 0; i < 40; i++) {
			const l = t.lane("job " + i, root), inner = t.lane("part " + i, l);
			t.span(l, i * 20, 35, "job " + i);
			t.span(inner, i * 20 + 2, 30, "part " + i);
		}
	});
	const packed = new page.Layout(r, true, new Set()), tree = new page.Layout(r, false, new Set());
	assert.equal(packed.rows, 5); // root, and two jobs at a time of two rows
	assert.equal(tree.rows, 81);
	for (const layout of [packed, tree]) {
		assert.equal(layout.shown, r.spans.n);
		for (let row = 0; row < layout.rows; row++) {
			for (let k = layout.first[row] + 1; k < layout.first[row + 1]; k++) {
				const [a, b] = [layout.order[k - 1], layout.order[k]];
				assert.ok(r.spans.start[a] + r.spans.dur[a] <= r.spans.start[b], "row " + row);
			}
		}
	}
	const folded = new page.Layout(r, true, new Set([0]));
	assert.equal(folded.rows, 1);
	assert.equal(folded.shown, 1);
	const part = [...r.spans.name].findIndex(n => r.strings[n] === "part 3"), job = page.around(r, part);
	assert.equal(r.strings[r.spans.name[job]], "job 3");
	assert.equal(r.strings[r.spans.name[page.around(r, job)]], "root");
	assert.equal(page.around(r, page.around(r, job)), -1);
	assert.equal(page.inside(r, job), part);
});

test("rows are named after the programs that took longest", () => {
	const text = names => { const t = new page.Tally(); for (const [name, weight] of names) t.add(name, weight); return t.text(); };
	assert.equal(text([["sh step.sh 1", 5], ["sh step.sh 22", 5], ["rm -f x", 1]]), "sh step.sh");
	assert.equal(text([["sh step.sh", 5], ["sh stepper.sh", 5]]), "sh");
	assert.equal(text([["rm a", 1], ["example64", 40], ["minigzip64 b", 30], ["gcc c.c", 29]]), "example64, minigzip64, gcc …");
	assert.equal(text([["cc1 a.c", 60], ["as a.s", 40]]), "cc1, as");
	assert.equal(text([]), "");
	const r = run(t => {
		const root = t.lane("make");
		t.span(root, 0, 1000, "make");
		for (let i = 0; i < 40; i++) t.span(t.lane(i % 2 ? "cc1 f" + i + ".c" : "rm f" + i, root), i * 20, i % 2 ? 18 : 1, "x");
	});
	const { labels, lanesIn, lane } = new page.Layout(r, true, new Set());
	assert.deepEqual([...labels], ["make", "cc1"]);
	assert.deepEqual([...lanesIn], [1, 40]);
	assert.deepEqual([...lane], [0, -1]);
});

test("narrow boxes beside each other are a group", () => {
	const group = (n, step, dur, scale, at = 0) => {
		const order = Int32Array.from({ length: n }, (_, i) => i), start = Float64Array.from(order, i => i * step);
		return page.groupOf({ layout: { order }, run: { spans: { start, dur: new Float64Array(n).fill(dur) } }, width: 1000, x: t => t * scale, time: x => x / scale }, at, n);
	};
	for (const [n, step, dur, scale] of [[200, 10, 8, 0.5], [200, 10, 10, 0.05], [100000, 10, 9, 0.001]]) {
		const g = group(n, step, dur, scale);
		assert.deepEqual([g.next, g.count, g.left], [n, n, 0], n + " boxes");
		assert.ok(Math.abs(g.right - ((n - 1) * step + dur) * scale) < 1 && g.seen.length <= Math.min(n, g.right + 2), g.right + " with " + g.seen.length);
		assert.ok(Math.abs(g.part - dur / step) < 0.15, n + " boxes cover " + g.part);
	}
	assert.equal(group(200, 100, 90, 1), null, "wide boxes");
	assert.equal(group(page.groupLeast - 1, 10, 8, 1), null, "few boxes");
	assert.equal(group(200, 50, 8, 1), null, "boxes far from each other");
	assert.equal(group(200, 10, 8, 0.5, 150).count, 50);
});

test("parents in a circle, chains of parents and lanes without a span end", () => {
	const r = run(t => {
		for (let i = 0; i < 5; i++) t.lane("lane " + i, (i + 1) % 5);
		t.lane("self", 5);
		let last = -1;
		for (let i = 0; i < 30000; i++) last = t.lane("deep " + i, last);
		t.span(last, 10, 20, "deepest");
		t.span(2, 10, 20, "circle");
	});
	const layout = new page.Layout(r, true, new Set());
	assert.equal(r.lanesInOrder.length, r.lanes.n);
	assert.equal(layout.shown, 2);
});

test("the rate of events is that of a time in which a rate means something", () => {
	const run = (length, step, events) => ({ length, curves: { n: events.length, time: events.map((_, i) => i * step), events } });
	const short = run(5.6e5, 1e3, Array.from({ length: 560 }, (_, i) => (i === 100 ? 94 : 0)));
	assert.equal(page.busiest(short), "94 in 560µs");
	assert.deepEqual(page.eventRate(short), [[0], [9400]]);
	const even = run(4e9, 4e6, new Array(1000).fill(2));
	assert.equal(page.busiest(even), "at most 500 in a second");
	const [times, rates] = page.eventRate(even);
	assert.ok(times.every((t, i) => !i || t - times[i - 1] >= 10e6));
	assert.ok(rates.slice(0, -1).every(r => Math.abs(r - 500) < 1), rates.join());
	assert.equal(page.busiest(run(4e12, 4e9, new Array(1000).fill(8))), "at most 8 in 4s");
});
