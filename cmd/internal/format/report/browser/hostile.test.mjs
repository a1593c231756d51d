// Harmful names, data and output stay text.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { Trace, curvesOf } from "./encode.mjs";
import { launch, open, skeleton, write } from "./chromium.mjs";
import { html, page } from "./pages.mjs";

const texts = [
	"</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--<script>", "]]>", "\u202eevil\u202c", "\x1b]0;title\x07\x1b[2J\x1b[31mred", "\x9b31m", "a\0b", "\r\n", "\ud800",
	"__proto__", "constructor", "javascript:alert(1)", "{{7*7}}", "${alert(1)}", "@@data@@", "'\"`", "&lt;b&gt;", "\u2028\u2029", "é".repeat(300), "x".repeat(1 << 20), "🙂".repeat(3000), "",
];
const hidden = /[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ufdd0\ufdd1]/;
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

function hostile(label) {
	const t = new Trace(texts[0], texts.length * 100, label), root = t.lane(texts[1]);
	t.span(root, 0, t.length, texts[0], { text: texts[1] });
	texts.forEach((text, i) => {
		const l = t.lane(text, root);
		t.span(l, i * 100, 90, text, { text, kind: i % 4, flags: i % 64 });
		t.mark(l, i * 100 + 5, text, text);
		t.line(i * 100 + 7, text.replaceAll("\n", " "), 1 + i % 7);
	});
	t.chain = [[t.spans[0], 0, 50], [t.spans[3], 50, 1e15]];
	t.missing = [[-5, 7, 1], [50, 1e15, 2], [900, 3, 0]];
	t.omitted = { spans: 5, marks: 1, lines: 2, bytes: 10, merged: 77 };
	t.use([0, 50, 90], texts.slice(0, 12).map((text, i) => [text, [i, 1e15, 3], [i, 1e9, 0]]));
	curvesOf(t, 20);
	return t;
}

test("names, data and output stay text", async () => {
	const t = [hostile(texts[0]), hostile(texts[4])];
	const parts = { verdict: `<section class="run"><h2>${html(texts[0])}</h2></section>`, holds: html(texts[1]) };
	const p = await open(browser, write(page(skeleton(), texts[0], t, parts)));
	assert.equal(await p.title(), texts[0]);
	const scripts = await p.evaluate("document.scripts.length + document.images.length");
	for (const pack of [0, 1]) {
		const titles = await p.evaluate(n => Array.from({ length: n * 3 }, (_, i) => {
			report.selection.at(0, ["span", "mark", "line"][i % 3], Math.floor(i / 3));
			return document.getElementById("panel").textContent.slice(0, 5000);
		}), texts.length);
		for (const title of titles) assert.ok(!hidden.test(title), JSON.stringify(title));
		if (!pack) await p.click("#pack");
	}
	const plot = await p.locator(".curve .u-over").first().boundingBox();
	for (const x of [-20, plot.width / 2]) { // beside it, and at a sample
		await p.mouse.move(plot.x + x, plot.y + 20);
		const heads = await p.$$eval(".curve h3", all => all.map(e => e.textContent));
		assert.ok(heads[0].includes("</script><script>alert(1)</script>") && heads[0].startsWith("memory of "), heads[0]);
		for (const head of heads) assert.ok(!hidden.test(head.replace(texts[4], "")), JSON.stringify(head)); // a label is a word of ours
	}
	await p.evaluate(() => { for (const t of report.timelines) t.drawNow(); });
	assert.match(await p.innerText("#panel"), /line of standard/);
	for (const text of ["<script>", "__proto__", "\\xe2\\x80\\xae", "x".repeat(100)]) {
		await p.fill("#find", text);
		await p.press("#find", "Enter");
		await p.fill("#grep", text);
		await p.press("#grep", "Enter");
		assert.match(await p.innerText("#output .count"), /^1 of \d+$/, text);
	}
	const output = await p.evaluate(() => document.querySelector(".lines").textContent);
	assert.ok(output.includes("</script><script>alert(1)</script>"));
	assert.ok(!hidden.test(output), "the output shows what is hidden");
	await p.evaluate(() => report.output.scrollTo(0));
	assert.equal(await p.evaluate("document.scripts.length + document.images.length"), scripts);
	assert.match(await p.innerText("#omitted"), /77 short intervals merged.*5 intervals left out.*1 event left out.*2 lines of output left out/);
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a megabyte in a line is cut, and shown in the panel", async () => {
	const t = new Trace("t", 1000);
	t.line(5, "y".repeat(1 << 20));
	t.line(6, "\x1b[31m" + "\x1b".repeat(1 << 18));
	t.line(7, "z".repeat(3997) + "\x1b[31mred");
	const p = await open(browser, write(page(skeleton(), "x", [t])));
	assert.match(await p.innerText(".lines .row:first-child"), /1,044,576 more characters$/);
	await p.locator(".more").first().click();
	assert.match(await p.innerText("#panel"), /983,040 more characters/);
	const second = p.locator(".lines .row").nth(1);
	assert.equal(await second.locator(".escaped").count(), 3995, "each escape counts as the character that it stands for");
	assert.deepEqual([...new Set(await second.locator(".escaped").allInnerTexts())], ["\\x1b"], "none is cut");
	assert.match(await second.innerText(), /258,149 more characters$/);
	await second.locator(".more").click();
	assert.match(await p.innerText("#panel"), /(\\x1b){65536}…[^]*196,608 more characters/);
	assert.match(await p.locator(".lines .row").nth(2).innerText(), /z3 more characters$/, "a colour is not cut");
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("a search finds what it shows, also across escapes", async () => {
	const t = new Trace("t", 1000);
	t.line(5, "a\x1b\x07]0;\x1b[32mtitle\x1b[m\x07b");
	const p = await open(browser, write(page(skeleton(), "x", [t]))), shown = "a\\x1b\\x07]0;title\\x07b";
	for (const query of ["", "a", "1b", "\\x07", "\\x1b\\x07", "b\\x", "07]0;t", "title\\x07b", shown, "\\", "x"]) {
		await p.fill("#grep", query);
		await p.press("#grep", "Enter");
		assert.equal(await p.locator("#output .count").innerText(), query && "1 of 1", query);
		assert.equal(await p.locator(".lines .text").evaluate(e => e.textContent), shown, query);
		const found = await p.locator(".lines mark").evaluateAll(all => all.map(e => e.textContent).join(""));
		assert.equal(found, query && query.repeat(shown.split(query).length - 1), query);
		assert.equal(await p.locator(".lines .escaped").evaluateAll(all => all.map(e => e.textContent).join(" ")), "\\x1b \\x07 \\x07", query);
	}
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("the policy stops what a text might smuggle in", async () => {
	const t = [hostile("")];
	const p = await open(browser, write(page(skeleton(), "x", t, { verdict: "<script>window.smuggled = 1</script><p id=p onclick='window.smuggled = 2'>x</p><img src='http://example.invalid/x.png'>" })));
	await p.click("#p");
	assert.equal(await p.evaluate("window.smuggled"), undefined);
	for (const what of ["Executing inline script", "Executing inline event handler", "Loading the image"]) {
		assert.ok(p.list.some(l => l.startsWith("console: " + what) && l.includes("blocked")), what + " in " + p.list.join("\n"));
	}
	await p.context().close();
});
