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
		for (const title of titles) assert.ok(!/[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]/.test(title), JSON.stringify(title));
		if (!pack) await p.click("#pack");
	}
	await p.evaluate(() => { for (const t of report.timelines) t.drawNow(); });
	assert.match(await p.innerText("#panel"), /line of standard/);
	for (const text of ["<script>", "__proto__", "\\u202e", "x".repeat(100)]) {
		await p.fill("#find", text);
		await p.press("#find", "Enter");
		await p.fill("#grep", text);
		await p.press("#grep", "Enter");
	}
	const output = await p.evaluate(() => document.querySelector(".lines").textContent);
	assert.ok(output.includes("</script><script>alert(1)</script>"));
	assert.ok(!/[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]/.test(output), "the output shows what is hidden");
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
	const p = await open(browser, write(page(skeleton(), "x", [t])));
	assert.match(await p.innerText(".lines .row:first-child"), /1,044,576 more characters$/);
	await p.locator(".more").first().click();
	assert.match(await p.innerText("#panel"), /983,040 more characters/);
	assert.ok(await p.locator(".lines .escaped").count() > 1000);
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
