// The page in a browser: what it draws, and what mouse, keys, search and links do.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, open, skeleton, write } from "./chromium.mjs";
import { Trace, curvesOf } from "./encode.mjs";
import { build, page, parts } from "./pages.mjs";

let browser, file, trace;
before(async () => {
	browser = await launch();
	trace = build();
	file = write(page(skeleton(), "make -j4", [trace], parts([trace])));
});
after(() => browser.close());

const settled = p => p.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

// place is where a span is on the page: {x, y} of a point in it.
const place = (p, i, part = 0.5, run = 0) => p.evaluate(([i, part, run]) => {
	const t = report.timelines[run], { start, dur } = t.run.spans, box = t.canvas.getBoundingClientRect();
	return { x: box.x + t.x(start[i] + dur[i] * part), y: box.y + axisHeight + t.layout.rowOf[i] * rowHeight - t.scroller.scrollTop + rowHeight / 2 };
}, [i, part, run]);

const pixel = (p, x, y) => p.evaluate(([x, y]) => {
	const t = report.timelines[0], box = t.canvas.getBoundingClientRect();
	return [...t.ctx.getImageData((x - box.x) * t.ratio, (y - box.y) * t.ratio, 1, 1).data].slice(0, 3);
}, [x, y]);

const colour = (p, text) => p.evaluate(text => {
	const c = document.createElement("canvas").getContext("2d");
	c.fillStyle = text;
	c.fillRect(0, 0, 1, 1);
	return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
}, text);

const named = name => trace.spans.findIndex(s => trace.strings[s.name] === name);
const selected = p => p.evaluate(() => { const n = report.selection.now; return n && { kind: n.kind, index: n.index, name: n.kind === "span" ? n.timeline.run.strings[n.timeline.run.spans.name[n.index]] : "" }; });

test("draws every span of the log, in its place and colour", async () => {
	for (const colorScheme of ["light", "dark"]) {
		const p = await open(browser, file, { colorScheme });
		assert.equal(await p.evaluate("report.runs[0].spans.n"), trace.spans.length);
		assert.equal(await p.evaluate("report.timelines[0].layout.shown"), trace.spans.length);
		assert.equal(await p.evaluate("report.runs[0].lines.n"), trace.lines.length);
		for (const [name, hue] of [["cc1 number.c", null], ["gcc builtin.c", null], ["bash tests/run", "fail"]]) {
			const at = await place(p, named(name), 0.97), got = await pixel(p, at.x, at.y - 6);
			const want = await colour(p, hue ? await p.evaluate(h => colours.css[h], hue) : await p.evaluate(n => colours.boxes[0][hueOf(report.runs[0], n)], trace.spans[named(name)].name));
			assert.deepEqual(got, want, colorScheme + ": " + name);
		}
		const free = await place(p, named("make -j4"), 0.9); // below the last row nothing is drawn but the grid
		const below = await p.evaluate(() => report.timelines[0].layout.rows);
		assert.deepEqual(await pixel(p, free.x + 3, free.y + (below - 2) * 21), await colour(p, await p.evaluate("colours.css.card")), "empty place");
		const lost = await p.evaluate(() => { const t = report.timelines[0], [from, to] = t.run.missing[0]; return t.canvas.getBoundingClientRect().x + t.x((from + to) / 2); });
		assert.deepEqual(await pixel(p, lost, (await p.evaluate("report.timelines[0].canvas.getBoundingClientRect().y")) + 25), await colour(p, await p.evaluate("colours.css['bad-box']")), "missing time");
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
});

test("a button copies a command", async () => {
	const t = new Trace("x", 1e9), lane = t.lane("sh"), line = "cd '/a b' && /bin/cc -c a.c >>/tmp/log 2>&1";
	t.span(lane, 0, 1e9, "sh");
	t.span(lane, 1e8, 5e8, "cc a.c", { depth: 1, paste: line });
	const p = await open(browser, write(page(skeleton(), "x", [t], parts([t]))));
	await p.evaluate(() => { window.copied = []; navigator.clipboard.writeText = async text => void window.copied.push(text); });
	for (const [index, buttons] of [[0, 0], [1, 1]]) {
		await p.evaluate(index => report.selection.choose(report.timelines[0], { kind: "span", index }), index);
		assert.equal(await p.getByRole("button", { name: "Copy command" }).count(), buttons);
	}
	await p.getByRole("button", { name: "Copy command" }).click();
	await p.getByRole("button", { name: "Copied" }).waitFor();
	assert.deepEqual(await p.evaluate("window.copied"), [line]);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a click shows all members", async () => {
	const p = await open(browser, file), at = await place(p, named("cc1 number.c"));
	await p.mouse.click(at.x, at.y);
	const text = await p.locator("#panel").innerText();
	for (const want of ["cc1 number.c", "946ms", "process", "inside", "gcc number.c", "/usr/lib/gcc/x86_64-linux-gnu/14/cc1\\x00-quiet\\x00number.c", "clock", "chain"]) assert.ok(text.includes(want), want + " in " + text);
	await p.mouse.move(at.x, at.y);
	assert.match(await p.locator("#tip").innerText(), /^cc1 number\.c · 946ms$/);
	await p.getByRole("button", { name: "Around it" }).click();
	assert.equal((await selected(p)).name, "gcc number.c");
	await p.getByRole("button", { name: "Output then" }).click();
	await settled(p);
	assert.equal(await p.locator(".lines .row.chosen").count(), 1);
	await p.getByRole("button", { name: "Close" }).click();
	assert.ok(await p.locator("#panel").isHidden());
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a failed box says how it ended", async () => {
	const p = await open(browser, file), at = await place(p, named("test shtest"));
	await p.mouse.move(at.x, at.y);
	assert.match(await p.locator("#tip").innerText(), /^test shtest · 28ms · failed with status 1$/);
	await p.mouse.click(at.x, at.y);
	assert.match(await p.innerText("#panel"), /status\s+1/);
	assert.equal(await p.evaluate("outcome({ flags: [33], status: [10], count: [1], kind: [0] }, 0)"), " · killed by signal 9");
	assert.equal(await p.evaluate("outcome({ flags: [64], status: [2], count: [1], kind: [0] }, 0)"), " · status 1, tolerated");
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("wheel, drag and buttons zoom and pan", async () => {
	const p = await open(browser, file, { viewport: { width: 1400, height: 1400 } }), at = await place(p, named("cc1 number.c")), view = () => p.evaluate("[report.view.from, report.view.to]");
	const whole = await view(), time = await p.evaluate(x => report.timelines[0].time(x - report.timelines[0].canvas.getBoundingClientRect().x), at.x);
	await p.mouse.move(at.x, at.y);
	await p.mouse.wheel(0, -200);
	await settled(p);
	assert.deepEqual(await view(), whole, "without focus the wheel scrolls the page");
	await p.evaluate("scrollTo(0, 0)");
	await p.keyboard.down("Control");
	await p.mouse.wheel(0, -300);
	await p.keyboard.up("Control");
	await p.waitForFunction(n => report.view.span < n, whole[1] * 0.6);
	assert.ok(Math.abs(time - await p.evaluate(x => report.timelines[0].time(x - report.timelines[0].canvas.getBoundingClientRect().x), at.x)) < 1e6, "the time under the pointer stays");
	await p.mouse.click(at.x, at.y);
	await p.mouse.wheel(0, -300);
	await p.waitForFunction(n => report.view.span < n, whole[1] * 0.3);
	const before = await view();
	await p.mouse.down();
	await p.mouse.move(at.x - 200, at.y, { steps: 4 });
	await p.mouse.up();
	const dragged = await view();
	assert.ok(dragged[0] > before[0] && Math.abs(dragged[1] - dragged[0] - before[1] + before[0]) < 2, "drag pans");
	await p.click("#zoom-all");
	await p.waitForFunction(n => report.view.span === n, whole[1]);
	await p.click("#zoom-in");
	await p.waitForFunction(n => report.view.span < n, whole[1] * 0.7);
	await p.click("#zoom-out");
	await p.waitForFunction(n => report.view.span === n, whole[1]);
	await p.keyboard.down("Shift");
	await p.mouse.move(at.x, at.y);
	await p.mouse.down();
	await p.mouse.move(at.x + 100, at.y, { steps: 3 });
	await p.mouse.up();
	await p.keyboard.up("Shift");
	await p.waitForFunction(n => report.view.span < n, whole[1] * 0.2);
	const map = await p.locator("#map").boundingBox();
	await p.mouse.click(map.x + map.width - 5, map.y + 10);
	await p.waitForFunction(n => report.view.to === n, whole[1]);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("everything by keyboard", async () => {
	const p = await open(browser, file), span = () => p.evaluate("report.view.span"), whole = await span();
	for (let i = 0; i < 40; i++) {
		await p.keyboard.press("Tab");
		if (await p.evaluate("document.activeElement === report.timelines[0].canvas")) break;
	}
	assert.ok(await p.evaluate("document.activeElement === report.timelines[0].canvas"), "Tab leads to the timeline");
	assert.notEqual(await p.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none");
	await p.keyboard.press("+");
	assert.ok(await span() < whole);
	const from = await p.evaluate("report.view.from");
	await p.keyboard.press("ArrowRight");
	assert.ok(await p.evaluate("report.view.from") > from);
	await p.keyboard.press("0");
	assert.equal(await span(), whole);
	await p.keyboard.press("Enter");
	assert.equal((await selected(p)).name, "make -j4");
	await p.keyboard.press("d");
	assert.equal((await selected(p)).name, "sh");
	await p.keyboard.press(".");
	await p.keyboard.press(",");
	assert.equal((await selected(p)).name, "sh");
	await p.keyboard.press("d");
	assert.match((await selected(p)).name, /^gcc /);
	await p.keyboard.press("f");
	assert.equal(await p.evaluate("report.timelines[0].folded.size"), 1);
	await p.keyboard.press("u");
	assert.equal((await selected(p)).name, "sh");
	await p.keyboard.press("F");
	assert.equal(await p.evaluate("report.timelines[0].layout.rows < 14"), true);
	await p.keyboard.press("F");
	await p.keyboard.press("c");
	assert.equal(await p.getAttribute("#show-chain", "aria-pressed"), "true");
	await p.keyboard.press("l");
	assert.ok(await p.evaluate("report.timelines[0].layout.rows") > trace.lanes.length);
	await p.keyboard.press("Escape");
	assert.equal(await selected(p), null);
	await p.keyboard.press("/");
	assert.ok(await p.evaluate("document.activeElement.id") === "find");
	await p.keyboard.type("number");
	await p.keyboard.press("Enter");
	assert.match(await p.innerText("#found"), /^1 of \d+$/);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("search counts, goes on and back, and unfolds", async () => {
	const p = await open(browser, file);
	const want = trace.spans.filter(s => /test /.test(trace.strings[s.name] + trace.strings[s.text])).length;
	await p.click("#fold-all");
	await p.fill("#find", "TEST ");
	await p.waitForFunction(n => document.getElementById("found").textContent === n + " matches", want);
	await p.press("#find", "Enter");
	assert.equal(await p.innerText("#found"), "1 of " + want);
	const first = await selected(p);
	await p.click("#find-next");
	assert.equal(await p.innerText("#found"), "2 of " + want);
	await p.click("#find-previous");
	assert.deepEqual(await selected(p), first);
	await p.click("#find-previous");
	assert.equal(await p.innerText("#found"), want + " of " + want);
	const { kind, index } = await selected(p);
	assert.ok(kind === "mark" || await p.evaluate(i => report.timelines[0].layout.rowOf[i] >= 0, index), "the match is shown");
	await p.fill("#find", "host=db");
	await p.press("#find", "Enter");
	assert.equal((await selected(p)).kind, "mark");
	await p.fill("#find", "no such thing");
	await p.waitForFunction(() => document.getElementById("found").textContent === "no match");
	assert.ok(await p.isDisabled("#find-next"));
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a line of output leads to its moment, and back", async () => {
	const p = await open(browser, file);
	await p.evaluate(() => { document.querySelector(".lines").scrollTop = 0; });
	await settled(p);
	assert.match(await p.innerText(".lines"), /checking for gcc/);
	const row = p.locator(".lines .row", { hasText: "warning:" });
	assert.equal(await row.innerText().then(t => t.replace(/\s+/g, " ")), "0.155 37.4ms jv.c:42:7: warning: unused variable 'x' [-Wunused-variable]");
	assert.equal(await row.locator(".error").count(), 1);
	await row.locator("button.when").click();
	assert.equal((await selected(p)).kind, "line");
	const line = (await selected(p)).index;
	assert.equal(await p.evaluate("report.timelines[0].cursor"), trace.lines[line].time);
	assert.match(await p.innerText("#panel"), /line of standard error/);
	const at = await p.evaluate(t => { const l = report.timelines[0], b = l.canvas.getBoundingClientRect(); l.box.scrollIntoView(); return { x: l.canvas.getBoundingClientRect().x + l.x(t), y: l.canvas.getBoundingClientRect().y + axisHeight + 8 }; }, trace.lines[trace.lines.length - 3].time);
	await p.mouse.click(at.x, at.y);
	await settled(p);
	assert.equal((await selected(p)).index, trace.lines.length - 3);
	assert.equal(await p.locator(".lines .row.chosen").getAttribute("data-number"), String(trace.lines.length - 3));
	await p.fill("#grep", "ok   test");
	await p.press("#grep", "Enter");
	await settled(p);
	assert.equal(await p.locator("#output .count").innerText(), "1 of 11");
	assert.ok(await p.locator(".lines mark").count() > 0);
	const green = await p.evaluate(() => { const e = document.querySelector(".lines .f2"); return [getComputedStyle(e).color, getComputedStyle(document.body).color]; });
	assert.notEqual(green[0], green[1]);
	assert.equal(await p.locator(".lines .sgr-bold").first().evaluate(e => getComputedStyle(e).fontWeight), "700");
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("the last line costs until its command ends, if the log has that", async () => {
	for (const [end, cost, panel] of [[70e6, "20ms", "20ms"], [-1, "", "not recorded"], [50e6, "", "0"]]) {
		const t = new Trace("end.trace", 100e6);
		t.line(10e6, "first");
		t.line(50e6, "last");
		t.end = end;
		const p = await open(browser, write(page(skeleton(), "end", [t])));
		const costs = await p.$$eval(".lines .cost", all => all.map(e => e.textContent));
		assert.deepEqual(costs, ["40ms", cost]);
		await p.locator(".lines .row", { hasText: "last" }).locator("button.when").click();
		assert.match(await p.innerText("#panel"), new RegExp("until the end\\s+" + panel));
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
});

test("tables sort by mouse and keyboard, and lead to the timeline", async () => {
	const p = await open(browser, file), column = n => p.$$eval("#tables tbody tr", (rows, n) => rows.map(r => r.cells[n].textContent), n);
	const names = await column(0);
	await p.getByRole("button", { name: "command" }).click();
	assert.deepEqual(await column(0), [...names].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })));
	const head = p.locator("th", { hasText: "wall" });
	await head.locator("button").focus();
	await p.keyboard.press("Enter");
	assert.equal(await head.getAttribute("aria-sort"), "descending");
	assert.deepEqual(await column(1), [...trace.spans].sort((a, b) => b.dur - a.dur).slice(0, 12).map(s => (s.dur >= 1e9 ? (s.dur / 1e9).toPrecision(3) + "s" : Math.round(s.dur / 1e6) + "ms")));
	await p.keyboard.press("Space");
	assert.equal(await head.getAttribute("aria-sort"), "ascending");
	assert.equal(await p.locator("th[aria-sort]").count(), 1);
	await p.locator("#tables button.link", { hasText: "cc1 number.c" }).click();
	assert.equal((await selected(p)).name, "cc1 number.c");
	await p.locator("#chain button.link", { hasText: "ld jq" }).click();
	assert.equal((await selected(p)).name, "ld jq");
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("light and dark follow the system and the switch", async () => {
	const p = await open(browser, file, { colorScheme: "light" });
	const background = () => p.evaluate("getComputedStyle(document.body).backgroundColor");
	const light = await background(), canvas = () => p.evaluate("[...report.timelines[0].ctx.getImageData(5, 5, 1, 1).data].join()");
	const lightCanvas = await canvas();
	await p.emulateMedia({ colorScheme: "dark" });
	await settled(p);
	assert.notEqual(await background(), light);
	assert.notEqual(await canvas(), lightCanvas);
	await p.click("#theme");
	await settled(p);
	assert.equal(await background(), light);
	assert.equal(await canvas(), lightCanvas);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

// linesInSight lists the lines of output that a reader sees without scrolling.
const linesInSight = p => p.$$eval(".lines .row", rows => {
	const box = document.querySelector(".lines").getBoundingClientRect();
	return rows.map(row => ({ row, at: row.getBoundingClientRect() })).filter(({ at }) => at.top >= box.top - 1 && at.bottom <= Math.min(box.bottom, innerHeight) + 1).map(({ row }) => Number(row.dataset.number));
});

test("the last output of a run that failed lies right below its verdict", async () => {
	const fail = trace.lines.findIndex(l => /FAIL/.test(l.text)), i = named("bash tests/run");
	trace.json();
	for (const width of [1280, 390]) {
		const { verdict } = parts([trace]);
		const headline = `<ul class="headline"><li class="failed" data-run="0" data-span="${i}">failed: <code>bash tests/run</code>, status 1</li><li class="printed"><code>ok   test 11</code></li></ul><dl class="facts">`;
		const p = await open(browser, write(page(skeleton(), "x", [trace], { ...parts([trace]), verdict: verdict.replace('<dl class="facts">', headline) })), { viewport: { width, height: 900 } });
		assert.equal(await p.evaluate("document.getElementById('verdict').nextElementSibling.id"), "output");
		assert.equal(await p.locator("nav a:visible").first().innerText(), "Output");
		const shown = await linesInSight(p);
		assert.ok(shown.includes(fail) && shown.at(-1) === trace.lines.length - 1, width + ": lines " + shown);
		assert.ok(await p.locator("#verdict li.printed").isHidden(), "a line is not there twice");
		await p.locator("#verdict li.failed button").click();
		assert.equal((await selected(p)).name, "bash tests/run");
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
	const early = build(); // the others go on
	for (let k = 0; k < 50; k++) early.line(early.length - 2e6, "later " + k);
	early.length += 3e8;
	for (let k = 0; k < 50; k++) early.line(early.length - 1e6, "much later " + k);
	const { verdict } = parts([early]), j = early.spans.findIndex(s => early.strings[s.name] === "bash tests/run");
	const p = await open(browser, write(page(skeleton(), "x", [early], { verdict: verdict.replace('<dl class="facts">', `<ul class="headline"><li class="failed" data-run="0" data-span="${j}">failed: <code>x</code></li><li class="printed"><code>no such line</code></li></ul><dl class="facts">`) })));
	const last = (await linesInSight(p)).at(-1);
	assert.equal(early.lines[last].text, "later 49", "other commands go on after the failure");
	assert.ok(await p.locator("#verdict li.printed").isVisible());
	await p.context().close();
});

test("long text does not make a row of a wide table taller", async () => {
	const gcc = "gcc " + "-DOPTION_OF_A_LONG_LINE ".repeat(8), row = `<tr data-run="0" data-line="3"><td class="n">5ms</td><th scope="row">${gcc}</th><td>cc1 lexer.c</td></tr>`;
	const tables = `<section class="table wide"><h3 id="t">Pauses</h3><div class="scroll" tabindex="0" role="region" aria-labelledby="t"><table class="sortable"><thead><tr><th scope="col" class="n">pause</th><th scope="col">after the line</th><th scope="col">meanwhile</th></tr></thead><tbody>${row.repeat(6)}</tbody></table></div></section>`;
	const narrow = tables.replace(" wide", "").replaceAll(gcc, "as").replaceAll('"t"', '"u"');
	for (const width of [1280, 390]) {
		const p = await open(browser, write(page(skeleton(), "x", [trace], { ...parts([trace]), tables: tables + narrow })), { viewport: { width, height: 900 } });
		const [wide, half] = await p.$$eval("#tables .table", all => all.map(e => ({ width: e.clientWidth, rows: [...e.querySelectorAll("tbody tr")].map(r => r.clientHeight) })));
		assert.ok(wide.rows.every(h => h < 36), width + ": rows of " + wide.rows);
		assert.equal(wide.width > half.width, width > 700);
		await p.context().close();
	}
});

test("a run that succeeded has its timeline first", async () => {
	const good = parts([trace]);
	const p = await open(browser, write(page(skeleton(), "x", [trace], { ...good, verdict: good.verdict.replace("run failed", "run ok") })));
	assert.equal(await p.evaluate("document.getElementById('timeline').previousElementSibling.id"), "trouble");
	await p.context().close();
});

test("a few events have no curve", async () => {
	for (const [n, want] of [[3, []], [200, ["events per second"]]]) {
		const t = new Trace("few.trace", 1e9), l = t.lane("sh");
		t.span(l, 0, 1e9, "sh");
		for (let i = 0; i < n; i++) t.mark(l, i * 1e6, "tick", String(i));
		for (let i = 0; i < 90; i++) t.line(i * 1e7, "line " + i);
		curvesOf(t, 100);
		const p = await open(browser, write(page(skeleton(), "x", [t])));
		assert.deepEqual(await p.$$eval(".curve h3", all => all.map(e => e.firstChild.textContent)), want, n + " events");
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
});

test("areas of memory and processors are drawn, show the timeline's range, and have numbers at the cursor", async () => {
	const s = 1e9, MiB = 1 << 20, t = new Trace("use.trace", 10 * s);
	t.span(t.lane("make"), 0, 10 * s, "make");
	t.use([0, 2, 4, 6, 8, 10].map(x => x * s), [
		["cc1", [0, 100, 200, 200, 100, 0].map(x => x * MiB), [1.5, 2, 2, 1, 0.5, 0]],
		["make", [50, 50, 50, 50, 50, 50].map(x => x * MiB), [0, 0, 1, 1, 0, 0]],
		["others", [0, 0, 10, 0, 0, 0].map(x => x * MiB), [0, 0, 0, 0, 0, 0]],
	]);
	const p = await open(browser, write(page(skeleton(), "use", [t])));
	const heads = () => p.$$eval(".curve h3", all => all.map(e => e.textContent));
	const whole = ["memory: at most 260 MiB; cc1 200 MiB, make 50 MiB, others 10 MiB", "processors in use: at most 3; cc1 2, make 1"];
	assert.deepEqual(p.list, []);
	assert.deepEqual(await heads(), whole);

	// spot is where an area is on the page at a time in seconds and a value, and inside the picture of its plot.
	const spot = (i, at, value) => p.evaluate(([i, at, value]) => {
		const u = report.curves.plots[i], over = u.over.getBoundingClientRect();
		return { x: over.x + u.valToPos(at, "x"), y: over.y + u.valToPos(value, "y"), timeline: report.timelines[0].canvas.getBoundingClientRect().x + report.timelines[0].x(at * 1e9),
			inside: [u.valToPos(at, "x", true), u.valToPos(value, "y", true)] };
	}, [i, at, value]);
	const drawn = async (i, at, value) => p.evaluate(([i, [x, y]]) => [...report.curves.plots[i].ctx.getImageData(x, y, 1, 1).data].slice(0, 3), [i, (await spot(i, at, value)).inside]);
	const hue = async i => colour(p, await p.evaluate(i => colours.boxes[1][i * 2 % colours.boxes[1].length], i));
	assert.deepEqual(await drawn(0, 4.5, 100 * MiB), await hue(0), "the memory of cc1");
	assert.deepEqual(await drawn(0, 5, 230 * MiB), await hue(1), "that of make upon it");
	assert.notDeepEqual(await drawn(0, 9, 200 * MiB), await hue(1), "nothing above them");
	assert.deepEqual(await drawn(1, 7, 0.5), await hue(0), "the processors of cc1, until the next sample");
	assert.deepEqual(await drawn(1, 7, 1.5), await hue(1), "those of make");

	// A moment is at the same place as in the timeline, also when that is zoomed, and zooming here zooms there.
	const aligned = async when => {
		for (const i of [0, 1]) {
			const at = await spot(i, 5, 0);
			assert.ok(Math.abs(at.x - at.timeline) < 2, `${when}: plot ${i} has 5 s at ${at.x}, the timeline at ${at.timeline}`);
		}
	};
	await aligned("at first");
	await p.evaluate("report.view.go(3e9, 7e9)");
	await p.waitForFunction(() => report.curves.plots.every(u => u.scales.x.min === 3 && u.scales.x.max === 7));
	await aligned("zoomed");
	await p.evaluate("document.getElementById('curves').scrollIntoView()");
	const from = await spot(0, 4, 20 * MiB), to = await spot(0, 6, 20 * MiB);
	await p.mouse.move(from.x, from.y);
	await p.mouse.down();
	await p.mouse.move(to.x, to.y, { steps: 5 });
	await p.mouse.up();
	await p.waitForFunction(() => Math.abs(report.view.from - 4e9) < 5e7 && Math.abs(report.view.to - 6e9) < 5e7);
	await p.evaluate("report.view.go(0, 10e9)");
	await p.waitForFunction(() => report.curves.plots.every(u => u.scales.x.max === 10));

	// The numbers at the cursor are those of the sample there; without it they are the largest again.
	const hover = async (i, at, want) => {
		const here = await spot(i, at, 0.1);
		await p.mouse.move(here.x, here.y - 5);
		assert.equal((await heads())[i], want);
	};
	await hover(0, 3.9, "memory at 4s: 260 MiB; cc1 200 MiB, make 50 MiB, others 10 MiB");
	await hover(0, 8.2, "memory at 8s: 150 MiB; cc1 100 MiB, make 50 MiB, others 0 B");
	await hover(1, 3.9, "processors in use at 2s: 2; cc1 2, make 0"); // until 4s
	await p.mouse.move(2, 2);
	assert.deepEqual(await heads(), whole);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("two runs lie under each other on one scale", async () => {
	const two = [build("old"), build("new", 2)], f = write(page(skeleton(), "old and new", two, parts(two))), p = await open(browser, f);
	assert.equal(await p.locator("#runs canvas").count(), 2);
	assert.deepEqual(await p.evaluate("report.runs.map(r => r.spans.n)"), two.map(t => t.spans.length));
	const [a, b] = [await place(p, 0, 0, 0), await place(p, 0, 0, 1)];
	assert.equal(Math.round(a.x), Math.round(b.x));
	assert.equal(await p.evaluate("report.view.length"), two[1].length);
	await p.fill("#find", "cc1 number.c");
	await p.press("#find", "Enter");
	assert.equal(await p.evaluate("report.selection.now.timeline === report.timelines[0]"), true);
	await p.press("#find", "Enter");
	assert.equal(await p.evaluate("report.selection.now.timeline === report.timelines[1]"), true);
	await p.getByRole("button", { name: "old", exact: true }).click();
	assert.match(await p.innerText("#output"), /checking for gcc/);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("without JavaScript the verdict, the chain and the tables can be read", async () => {
	const p = await open(browser, file, { javaScriptEnabled: false });
	const text = await p.innerText("body");
	for (const want of ["make -j4", "2345 events lost", "cc1 number.c", "946ms", "need JavaScript", "arguments of commands"]) assert.ok(text.includes(want), want);
	assert.ok(!text.includes("Search"), "no controls");
	await p.context().close();
});

test("prints light, without controls, with timeline and output", async () => {
	const p = await open(browser, file, { colorScheme: "dark" });
	await p.emulateMedia({ media: "print" });
	assert.ok(await p.locator("#theme").isHidden());
	assert.ok(await p.locator(".heading .tools").first().isHidden());
	assert.ok(await p.locator("#runs canvas").isVisible());
	assert.equal(await p.locator(".lines").evaluate(e => getComputedStyle(e).maxHeight), "none", "all lines are on the paper");
	await p.emulateMedia({ media: "screen" });
	const pdf = await p.pdf({ format: "A4", printBackground: true });
	assert.ok(pdf.length > 20000);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a page without data, with damaged data, or with an empty run says so", async () => {
	for (const [data, trouble] of [["", /was cut/], ['{"version":1,"runs":[', /was cut/], ['{"version":9,"runs":[]}', /version 9/], ['{"version":1,"runs":[]}', /^$/]]) {
		const p = await open(browser, write(page(skeleton(), "x", null, { data, ...parts([trace]) })));
		assert.match(await p.locator("#trouble").innerText(), trouble);
		await p.getByRole("button", { name: "wall" }).click();
		assert.equal(await p.locator("th[aria-sort]").count(), 1, "tables sort");
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
	const { Trace } = await import("./encode.mjs");
	for (const length of [0, 1, 1e18]) {
		const p = await open(browser, write(page(skeleton(), "x", [new Trace("empty", length)])));
		assert.equal(await p.evaluate("report.timelines[0].layout.shown"), 0);
		await p.click("#zoom-in");
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
});
