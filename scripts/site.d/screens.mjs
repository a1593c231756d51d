// Opens every page of the site at two widths: screens.mjs SITE [PICTURES]. Nothing stands out beyond
// the page, and nothing is asked of a network. axe finds no fault in a page of each kind, light and
// dark, and, with POSIXTRACE_FULL, in any page.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { launch } from "../../cmd/internal/format/report/browser/chromium.mjs";

const [site, pictures] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(path.resolve("package.json")).resolve("axe-core/axe.min.js"), "utf8");
const pages = fs.readdirSync(site, { recursive: true }).filter(f => f.endsWith(".html") && f !== "demo.html").sort();
const shown = ["index.html", "overview.html", "compare.html", "guides/ci.html", "guides/debug.html", "cost/index.html", "man/ptrace-run.1.html", "man/index.html", "pkg/posixtrace.html", "sources/index.html"];
if (pictures) fs.mkdirSync(pictures, { recursive: true });

const browser = await launch();
let faults = 0, looks = 0;
const fault = (...text) => { faults++; console.log(...text); };
for (const colorScheme of ["light", "dark"]) {
	for (const width of [390, 1280]) {
		const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme });
		const page = await context.newPage();
		let where = "";
		page.on("request", r => { if (!r.url().startsWith("file://" + site + "/")) fault(where, "asks for", r.url()); });
		page.on("requestfailed", r => fault(where, "cannot read", r.url()));
		for (const name of colorScheme === "light" ? pages : shown) {
			where = `${name}, ${width} ${colorScheme}:`;
			await page.goto("file://" + path.join(site, name));
			const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
			if (wide > 0) {
				const out = await page.evaluate(w => [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > w && !e.closest("pre, .wide")).slice(0, 3).map(e => e.outerHTML.slice(0, 100)), width);
				fault(where, wide, "pixels stand out:", out.join(" "));
			}
			if (width === 390 && (shown.includes(name) || process.env.POSIXTRACE_FULL)) {
				await page.evaluate(axe);
				const { violations } = await page.evaluate(() => axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
				for (const v of violations) fault(where, v.id, v.nodes.length, v.nodes.slice(0, 2).map(n => n.html.slice(0, 120) + " " + n.any.map(a => a.message).join("; ")).join(" | "));
			}
			if (pictures && shown.includes(name)) await page.screenshot({ path: path.join(pictures, `${name.replaceAll("/", "-").replace(".html", "")}-${width}-${colorScheme}.png`) });
			looks++;
		}
		await context.close();
	}
}
await browser.close();
console.log(`${looks} looks at ${pages.length} pages, ${faults} faults`);
process.exit(faults ? 1 : 0);
