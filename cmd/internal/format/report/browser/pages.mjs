// Pages for the tests, made from the document with empty slots and data of the tests' own.
import { Trace, curvesOf, reportJSON } from "./encode.mjs";

const html = s => s.replace(/[&<>"']/g, c => "&#" + c.charCodeAt(0) + ";");
const ms = 1e6;

export function page(skeleton, title, traces, parts = {}) {
	const fill = { title: html(title), data: traces ? reportJSON(title, traces) : "", links: "", verdict: "", differences: "", chain: "", tables: "", notes: "", holds: "", ...parts };
	return skeleton.replace(/@@(\w+)@@/g, (_, slot) => fill[slot]);
}

// random is a generator that gives the same numbers in each run.
export function random(seed) {
	return () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
}

// build is a parallel build: make, four jobs at a time, each sh -> gcc -> cc1, as; then a link and a
// test that fails. factor slows one file.
export function build(label = "", factor = 1) {
	const t = new Trace(label ? label + ".trace" : "build.trace", 1, label), r = random(7);
	const make = t.lane("make -j4", -1, 100), slots = [40 * ms, 41 * ms, 42 * ms, 44 * ms];
	const files = ["lexer", "parser", "number", "jv", "compile", "execute", "builtin", "main", "util", "linker", "locfile", "print", "alloc", "dtoa", "unicode", "regexp", "decNumber", "time"];
	t.line(12 * ms, "checking for gcc... gcc", 1, make);
	t.line(30 * ms, "\x1b[1;32mconfigure: done\x1b[0m", 1, make);
	let slowest = null;
	for (const f of files) {
		const j = slots.indexOf(Math.min(...slots)), begin = slots[j];
		const dur = Math.round((f === "number" ? 1100 * factor : 60 + 300 * r()) * ms);
		const sh = t.lane("sh", make), gcc = t.lane("gcc " + f + ".c", sh), cc1 = t.lane("cc1 " + f + ".c", gcc), as = t.lane("as " + f + ".s", gcc);
		t.span(sh, begin, dur, "sh", { text: "sh\0-c\0gcc -O2 -c " + f + ".c" });
		t.span(gcc, begin + ms, dur - 2 * ms, "gcc " + f + ".c", { text: "gcc\0-O2\0-c\0" + f + ".c" });
		const c = t.span(cc1, begin + 3 * ms, Math.round(dur * 0.86), "cc1 " + f + ".c", { text: "/usr/lib/gcc/x86_64-linux-gnu/14/cc1\0-quiet\0" + f + ".c" });
		t.span(as, begin + 4 * ms + Math.round(dur * 0.86), Math.round(dur * 0.1), "as " + f + ".s");
		t.line(begin, "gcc -O2 -Wall -c " + f + ".c -o " + f + ".o", 1, make);
		if (f === "number") slowest = c;
		if (f === "jv") {
			t.line(begin + dur * 0.5, "\x1b[01m\x1b[Kjv.c:42:7:\x1b[m\x1b[K \x1b[01;35m\x1b[Kwarning: \x1b[m\x1b[Kunused variable '\x1b[01m\x1b[Kx\x1b[m\x1b[K' [\x1b[01;35m\x1b[K-Wunused-variable\x1b[m\x1b[K]", 2, make);
		}
		slots[j] = begin + dur + 2 * ms;
	}
	let at = Math.max(...slots);
	const end = slowest.start + slowest.dur;
	const ld = t.lane("ld jq", make);
	const link = t.span(ld, at, 180 * ms, "ld jq");
	t.line(at, "gcc -o jq *.o", 1, make);
	at += 182 * ms;
	const bash = t.lane("bash tests/run", make);
	const run = t.span(bash, at, 420 * ms, "bash tests/run", { flags: 1, status: 2, text: "bash\0tests/run" });
	for (let i = 0; i < 12; i++) {
		t.span(bash, at + 10 * ms + i * 33 * ms, 28 * ms, i === 9 ? "test shtest" : "test " + i, { depth: 1, kind: 1, flags: i === 9 ? 1 : 0, status: i === 9 ? 2 : 1, text: "data of test " + i });
		t.line(at + 38 * ms + i * 33 * ms, i === 9 ? "\x1b[31mFAIL\x1b[0m shtest: expected \x1b[38;5;208m1e1000\x1b[0m, got \x1b[38;2;120;180;255mnull\x1b[0m" : "\x1b[32mok\x1b[0m   test " + i, i === 9 ? 2 : 1, bash);
		for (let k = 0; k < 5; k++) t.span(bash, at + 12 * ms + i * 33 * ms + k * 4 * ms, 2 * ms, "read", { depth: 2, kind: 2 });
	}
	t.mark(bash, at + 200 * ms, "test.retry", "host=db attempt=2");
	t.mark(make, 20 * ms, "proc.signal", "SIGCHLD");
	at += 424 * ms;
	const whole = t.span(make, 5 * ms, at - 5 * ms, "make -j4", { flags: 1, status: 3, text: "make\0-j4" });
	t.line(at, "make: *** [Makefile:12: check] Error 1", 2, make);
	t.length = at + 12 * ms;
	t.lines.sort((a, b) => a.time - b.time);
	t.chain = [[whole, 5 * ms, slowest.start - 5 * ms], [slowest, slowest.start, slowest.dur], [whole, end, link.start - end], [link, link.start, link.dur], [run, run.start, run.dur]];
	if (!label) t.missing = [[Math.round(t.length * 0.36), Math.round(t.length * 0.372), 2345]];
	curvesOf(t, 300);
	return t;
}

// parts are what package report writes for a build: a verdict, the chain and a table.
export function parts(traces) {
	const show = d => (d >= 1e9 ? (d / 1e9).toPrecision(3) + "s" : Math.round(d / ms) + "ms");
	const verdict = traces.map((t, r) => `<section class="run failed" data-run="${r}"><h2>${t.label ? `<span class="label">${html(t.label)}</span> ` : ""}<code>make -j4</code></h2>
<p class="status"><span class="badge">status 2</span>slowest command: <code>cc1 number.c</code></p>
<dl class="facts"><div><dt>wall time</dt><dd>${show(t.length)}</dd></div><div><dt>processor time</dt><dd>4.91s</dd></div><div><dt>largest memory</dt><dd>87M</dd></div><div><dt>events</dt><dd>${t.spans.length * 2}</dd></div><div><dt>log</dt><dd>complete</dd></div></dl>
${t.missing.map(m => `<p class="warning">${m[2]} events lost from ${show(m[0])} to ${show(m[1])}</p>`).join("")}</section>`).join("");
	const t = traces[traces.length - 1], run = traces.length - 1;
	t.json(); // sorts
	const chain = `<h2>What decided the wall time</h2><ol class="chain">${t.chain.map(([s, , d]) => `<li data-run="${run}" data-span="${t.spans.indexOf(s)}"><span class="share" data-share="${d / t.length}">${Math.round(100 * d / t.length)} %</span> <code>${html(t.strings[s.name])}</code> <span class="time">${show(d)}</span></li>`).join("")}</ol>`;
	const rows = t.spans.map((s, i) => ({ s, i })).sort((a, b) => b.s.dur - a.s.dur).slice(0, 12);
	const tables = `<section class="table"><h3 id="t-commands">Slowest commands</h3><p class="note">${t.spans.length - 12} more</p><div class="scroll" tabindex="0" role="region" aria-labelledby="t-commands"><table class="sortable"><thead><tr><th scope="col">command</th><th scope="col" class="n">wall</th><th scope="col" class="n">processor</th><th scope="col">status</th></tr></thead><tbody>${rows.map(({ s, i }) => `<tr${s.flags & 1 ? ' class="failed"' : ""} data-run="${run}" data-span="${i}"><th scope="row">${html(t.strings[s.name])}</th><td class="n" data-sort="${s.dur}">${show(s.dur)}</td><td class="n" data-sort="${s.dur * 0.9}">${show(s.dur * 0.9)}</td><td>${s.status ? s.status - 1 : 0}</td></tr>`).join("")}</tbody></table></div></section>`;
	return { verdict, chain, tables, holds: "<p>This report holds the arguments of commands and their output.</p>" };
}

// many is n spans in lanes of their own process, one after the other.
export function many(n, lanes = 16) {
	const t = new Trace("many.trace", n * 1e5), r = random(3);
	const root = t.lane("server");
	t.span(root, 0, t.length, "server");
	const next = Array.from({ length: lanes - 1 }, (_, i) => i * 1000);
	const ids = next.map((_, i) => t.lane("worker " + i, root));
	for (let i = 0; i < n - 1; i++) {
		const l = i % next.length, dur = Math.floor(r() * 1.2e6) + 1000;
		t.span(ids[l], next[l], dur, "request " + i % 50, { kind: 1, flags: i % 5000 === 4999 ? 1 : 0, text: "path=/item/" + i });
		next[l] += dur + Math.floor(r() * 3e5);
	}
	t.length = Math.max(...next) + 1;
	t.spans[0].dur = t.length - 1;
	curvesOf(t, 600);
	return t;
}

export { html };
