// Reports that ptrace-dump and ptrace-run write of real logs.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test, { after, before } from "node:test";
import { launch, open, scratch } from "./chromium.mjs";

const slow = Number(process.env.POSIXTRACE_SLOW || 1);
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const sh = (command, options = {}) => spawnSync("bash", ["-c", command], { cwd: scratch, maxBuffer: 1 << 28, ...options });
const file = name => path.join(scratch, name);

const script = `eval "$(ptrace-event --shell=bash)"
compile() { printf '\\033[1mcompile\\033[0m %s\\n' "$1"; sleep "$2"; }
for i in 1 2 3; do pt_step "compile.$i" compile "$i" 0.02 & done
wait
sh -c 'exec sleep 0.3'
pt_step hostile.step true '</script><script>alert(1)</script>'
printf '\\033]0;title\\007</script><script>alert(2)</script>\\xe2\\x80\\xae\\xff\\n' >&2
printf '\\033[01m\\033[Kjv.c:42:\\033[m\\033[K \\033[01;35m\\033[Kwarning: \\033[m\\033[Kx\\n' >&2
pt_step test.limits sh -c 'echo broken >&2; exit 3'
`;

test("a script with steps: spans drawn are those of the log, the slowest is named", async () => {
	fs.writeFileSync(file("ci.sh"), script);
	const run = sh("ptrace-run -c -e proc -o ci.trace --report=run.html bash ci.sh");
	assert.equal(run.status, 3, String(run.stderr));
	execFileSync("bash", ["-c", "ptrace-dump --html ci.trace >dump.html"], { cwd: scratch });
	const log = sh("ptrace-dump -j ci.trace").stdout.toString().trim().split("\n").map(l => JSON.parse(l));
	// A command is an exec, or a fork without one.
	const execs = log.filter(e => e.event === "proc.exec").map(e => e.pid);
	const forks = log.filter(e => e.event === "proc.fork" && e.kind !== "thread" && !execs.includes(e.child));
	const wanted = execs.length + forks.length + log.filter(e => e.event.endsWith(".begin")).length;
	const lines = log.filter(e => e.event.startsWith("output.")).length;
	for (const name of ["dump.html", "run.html"]) {
		const p = await open(browser, file(name));
		assert.equal(await p.innerText("#trouble"), "");
		assert.equal(await p.evaluate("report.runs[0].spans.n"), wanted, name);
		assert.equal(await p.evaluate("report.timelines[0].layout.shown"), wanted, name);
		assert.equal(await p.evaluate("report.runs[0].lines.n"), lines, name);
		assert.match(await p.innerText("#verdict"), /status 3[^]*sleep 0\.3/, name);
		const texts = p.locator(".lines .text"), shown = await texts.allInnerTexts();
		assert.ok(shown.includes("\\x1b]0;title\\x07</script><script>alert(2)</script>\\xe2\\x80\\xae\\xff"), name + ": " + shown.join("\n"));
		assert.deepEqual(await texts.locator(".escaped").allInnerTexts(), ["\\x1b", "\\x07", "\\xe2\\x80\\xae", "\\xff"], name);
		assert.ok(shown.includes("jv.c:42: warning: x"), name + ": " + shown.join("\n"));
		assert.equal(await texts.locator(".sgr-bold.f5").innerText(), "warning: ", name);
		assert.match(await p.innerText("#chain"), /sleep 0\.3/);
		assert.equal(await p.locator("#differences, nav a[href='#differences']").count(), 0);
		const links = await p.$$eval("tr[data-span]", rows => rows.map(r => [Number(r.dataset.run), Number(r.dataset.span), r.cells[0].innerText]));
		assert.ok(links.length > 3);
		for (const [r, i, text] of links) {
			const span = await p.evaluate(([r, i]) => { const { spans, strings } = report.runs[r]; return visible(strings[spans.name[i]]); }, [r, i]);
			assert.ok(text.startsWith(span.slice(0, 20)) || span.startsWith(text.slice(0, 20)), text + " leads to " + span);
		}
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
});

test("damaged, unfinished and empty logs give a page that says so", async () => {
	const whole = fs.readFileSync(file("ci.trace"));
	sh("ptrace-run -o empty.trace true");
	const cut = (name, n) => { fs.writeFileSync(file(name), whole.subarray(0, n)); return name; };
	for (const [name, pattern] of [[cut("half.trace", whole.length >> 1), /ends|trunc|damage|incomplete|cut|unfinished/i], [cut("most.trace", whole.length - 100), /./], ["empty.trace", /./]]) {
		const out = sh("ptrace-dump --html " + name + " >page.html; echo $?");
		const p = await open(browser, file("page.html"));
		assert.match(await p.innerText("#verdict"), pattern, name + ", status " + out.stdout);
		assert.equal(await p.innerText("#trouble"), "", name);
		assert.deepEqual(p.list, [], name);
		await p.context().close();
	}
});

test("two runs: the difference comes first, both timelines follow", async () => {
	fs.writeFileSync(file("slow.sh"), script.replace("sleep 0.3", "sleep 0.8"));
	assert.equal(sh("ptrace-run -c -e proc -o new.trace bash slow.sh").status, 3);
	const diff = sh("ptrace-diff --html ci.trace new.trace >diff.html");
	assert.equal(diff.status, 1, String(diff.stderr));
	const p = await open(browser, file("diff.html"));
	assert.equal(await p.locator("#runs canvas").count(), 2);
	assert.deepEqual(await p.evaluate("report.runs.map(r => r.label)"), ["old", "new"]);
	assert.match(await p.locator("#verdict h2").first().innerText(), /slower.*sleep/);
	assert.match(await p.locator("#differences table").innerText(), /sleep/);
	const top = selector => p.locator(selector).first().evaluate(e => e.getBoundingClientRect().top);
	assert.ok(await top("#verdict") < await top("#differences") && await top("#differences") < await top("#timeline"), "the differences follow the verdict");
	assert.equal(await p.locator("nav a:visible").first().innerText(), "Differences");
	assert.deepEqual(await p.locator(".curve h3").first().evaluate(e => [e.textContent.replace(/\d+/g, "N"), e.querySelectorAll(".key").length]), ["processes at work: old at most N, new at most N", 2]);
	const keys = await p.$$eval(".curve:first-child .key", all => all.map(e => getComputedStyle(e).borderTopColor));
	assert.deepEqual(keys, await p.evaluate("[colours.css.warn, colours.css.accent]"));
	const titles = await p.locator("#tables h3").allInnerTexts();
	assert.ok(titles.indexOf("new: Commands") === titles.indexOf("old: Commands") + 1, titles.join());
	for (const width of [1400, 700, 420]) {
		await p.setViewportSize({ width, height: 1000 });
		assert.equal(await p.evaluate("document.documentElement.scrollWidth"), width, "the page is as wide as the window");
	}
	assert.deepEqual(p.list, []);
	await p.context().close();
});

test("1,000,000 events, 100,000 spans", async t => {
	const run = sh("ptrace-run -o many.trace recorder 100000 800000");
	assert.equal(run.status, 0, String(run.stderr));
	const begin = process.hrtime.bigint();
	const dump = sh("ptrace-dump --html many.trace >many.html");
	const written = Number(process.hrtime.bigint() - begin) / 1e9;
	assert.equal(dump.status, 0, String(dump.stderr));
	const wanted = Number(sh("ptrace-dump -e '*.begin' many.trace | wc -l").stdout);
	const size = fs.statSync(file("many.html")).size;
	let least = Infinity;
	for (let i = 0; i < 3 && least > 1000 * slow; i++) {
		const p = await open(browser, file("many.html"));
		least = Math.min(least, await p.evaluate("report.drawn"));
		const n = await p.evaluate(() => { const { spans, omitted } = report.runs[0]; let n = omitted.spans || 0; for (let i = 0; i < spans.n; i++) n += spans.count[i]; return n; });
		assert.ok(n >= wanted && wanted > 50000, n + " spans of " + wanted);
		assert.deepEqual(p.list, []);
		await p.context().close();
	}
	t.diagnostic(`${wanted} spans: written in ${written.toFixed(2)} s, ${Math.round(size / 1024)} KiB, first drawing after ${Math.round(least)} ms`);
	assert.ok(size <= 4 << 20, "size " + size);
	assert.ok(least < 1000 * slow, "first drawing after " + least + " ms");
});
