// Takes the pictures of the documents: pictures.mjs DIRECTORY-OF-REPORTS DIRECTORY-OF-PICTURES.
import path from "node:path";
import { launch, open } from "./chromium.mjs";

const [from, to] = process.argv.slice(2);
const browser = await launch();

async function picture(report, name, height, options, act = () => {}) {
	const p = await open(browser, path.join(from, report), { viewport: { width: 1200, height }, ...options });
	await act(p);
	await p.waitForTimeout(300);
	await p.screenshot({ path: path.join(to, name) });
	if (p.list.length) throw new Error(name + ": " + p.list.join("\n"));
	await p.context().close();
}

await picture("build.html", "build.png", 960, { colorScheme: "light" });
await picture("build.html", "build-dark.png", 760, { colorScheme: "dark" }, async p => {
	await p.click("#show-chain");
	const longest = await p.$$eval("#chain [data-share]", all => all.reduce((a, b) => (Number(b.dataset.share) > Number(a.dataset.share) ? b : a)).closest("li").querySelector("code").textContent);
	const span = await p.locator("#chain li", { hasText: longest }).first().getAttribute("data-span");
	await p.evaluate(i => report.selection.at(0, "span", i), Number(span));
});
await picture("build.html", "output.png", 640, { colorScheme: "light" }, async p => {
	await p.evaluate(() => document.getElementById("output").scrollIntoView());
	await p.evaluate(() => { document.querySelector(".lines").scrollTop = 1e9; });
});
await picture("diff.html", "diff.png", 1080, { colorScheme: "light" });
await browser.close();
