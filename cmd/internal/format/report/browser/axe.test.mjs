// No fault found by axe, in both schemes, with everything open.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import test, { after, before } from "node:test";
import { launch, open, skeleton, write } from "./chromium.mjs";
import { build, page, parts } from "./pages.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

for (const colorScheme of ["light", "dark"]) {
	test("axe finds no fault, " + colorScheme, async () => {
		const two = [build("old"), build("new", 2)], one = [build()];
		for (const traces of [one, two]) {
			const p = await open(browser, write(page(skeleton(), "make -j4", traces, parts(traces))), { colorScheme, bypassCSP: true });
			await p.getByRole("button", { name: "wall" }).click();
			await p.fill("#find", "test");
			await p.press("#find", "Enter");
			await p.fill("#grep", "o");
			await p.press("#grep", "Enter");
			await p.locator(".help summary").click();
			await p.evaluate(axe);
			const { violations, passes } = await p.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
			assert.deepEqual(violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 120) + " " + n.any.map(a => a.message).join("; ")).slice(0, 3).join(" | ")), []);
			assert.ok(passes.length > 20);
			await p.context().close();
		}
	});
}
