// A headless Chromium, and what a page must not do: errors, dialogs, requests.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const here = path.dirname(new URL(import.meta.url).pathname);
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "posixtrace-browser-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));

function browserPath() {
	if (process.env.CHROMIUM) return process.env.CHROMIUM;
	for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
		for (const dir of (process.env.PATH || "").split(":")) if (fs.existsSync(path.join(dir, name))) return path.join(dir, name);
	}
	throw new Error("Chromium: not found");
}

export async function launch() {
	const args = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"];
	if (process.getuid() === 0) args.push("--no-sandbox"); // Chromium's sandbox refuses root; the pages are ours
	return chromium.launch({ executablePath: browserPath(), args });
}

let text;
export function skeleton() {
	text = text || execFileSync("go", ["run", "-buildvcs=false", "./testdata/skeleton"], { cwd: here, encoding: "utf8", maxBuffer: 1 << 24 });
	return text;
}

let number = 0;
export function write(html) {
	const file = path.join(scratch, ++number + ".html");
	fs.writeFileSync(file, html);
	return file;
}

// open opens a file and collects complaints: a test ends with complaints(page) being empty.
export async function open(browser, file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, reducedMotion: "reduce", ...options });
	const page = await context.newPage(), url = "file://" + file;
	page.list = [];
	page.on("pageerror", e => page.list.push("error: " + e));
	// The tests' own reading of pixels makes Chromium recommend another kind of canvas.
	page.on("console", m => { if (["error", "warning", "assert"].includes(m.type()) && !m.text().includes("willReadFrequently")) page.list.push("console: " + m.text()); });
	page.on("dialog", d => { page.list.push("dialog: " + d.message()); d.dismiss(); });
	page.on("request", r => { if (r.url() !== url) page.list.push("request: " + r.url()); });
	await page.goto(url);
	return page;
}
