// The embedded uPlot is that of its npm release, which npm has checked against the lock file's sum.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";

const here = path.dirname(new URL(import.meta.url).pathname);

test("uPlot is the file of its release", () => {
	const lock = JSON.parse(fs.readFileSync(path.join(here, "package-lock.json"), "utf8")).packages["node_modules/uplot"];
	assert.match(lock.integrity, /^sha512-/);
	const release = path.dirname(createRequire(import.meta.url).resolve("uplot/package.json"));
	assert.equal(JSON.parse(fs.readFileSync(path.join(release, "package.json"), "utf8")).version, lock.version);
	for (const [ours, theirs] of [["uPlot.iife.min.js", "dist/uPlot.iife.min.js"], ["uPlot.min.css", "dist/uPlot.min.css"], ["LICENSE", "LICENSE"]]) {
		assert.ok(fs.readFileSync(path.join(here, "../page/uplot", ours)).equals(fs.readFileSync(path.join(release, theirs))), ours);
	}
});
