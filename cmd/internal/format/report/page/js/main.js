// Starts the page.

class Report {
	constructor(runs) {
		this.runs = runs;
		this.view = new View(Math.max(...runs.map(r => r.length)));
		document.getElementById("timeline").hidden = false;
		this.timelines = runs.map(run => new Timeline(run, this.view, document.getElementById("runs"), summary(run)));
		this.map = new OverviewMap(document.getElementById("map"), runs, this.view);
		this.selection = new Selection(this);
		this.search = new Search(this);
		for (const t of this.timelines) { new Pointer(t, this); new Keys(t, this); }
		this.resize();
		this.view.onChange(() => this.draw());
		this.tools();
		new ResizeObserver(() => this.resize()).observe(document.getElementById("runs"));
		window.addEventListener("resize", () => this.resize());
	}

	// rest adds what can come after the first picture.
	rest() {
		this.curves = new Curves(this, document.getElementById("curves"));
		this.output = new Output(this);
		startPrint(this);
		for (const link of document.querySelectorAll("nav a")) {
			const target = document.querySelector(link.getAttribute("href"));
			link.hidden = target.hidden || !target.firstElementChild;
		}
		theme.onChange(() => this.draw());
		document.getElementById("omitted").textContent = omissions(this.runs);
	}

	draw() {
		for (const t of this.timelines) t.draw();
		this.map.pending = this.map.pending || requestAnimationFrame(() => { this.map.pending = 0; this.map.draw(); });
	}

	resize() {
		const key = window.innerWidth + " " + window.innerHeight + " " + document.getElementById("runs").clientWidth + " " + window.devicePixelRatio;
		if (key === this.size) return;
		this.size = key;
		for (const t of this.timelines) t.resize();
		this.map.resize();
		if (this.curves) this.curves.resize();
	}

	tools() {
		const on = (id, f) => document.getElementById(id).addEventListener("click", f);
		const middle = () => (this.view.from + this.view.to) / 2;
		on("zoom-in", () => this.view.zoom(middle(), 0.6));
		on("zoom-out", () => this.view.zoom(middle(), 1 / 0.6));
		on("zoom-all", () => this.view.all());
		this.toggle("show-chain", (t, pressed) => { t.onlyChain = pressed; t.draw(); });
		this.toggle("pack", (t, pressed) => { t.packed = pressed; t.relayout(); });
		this.toggle("fold-all", (t, pressed) => { t.folded = new Set(pressed ? t.run.lanesInOrder.filter(l => t.run.children[l].length && t.run.lanes.parent[l] !== 0) : []); t.relayout(); });
		document.getElementById("show-chain").hidden = !this.runs.some(r => r.chain.length);
	}

	toggle(id, f) {
		const control = document.getElementById(id);
		control.addEventListener("click", () => {
			const pressed = control.getAttribute("aria-pressed") !== "true";
			control.setAttribute("aria-pressed", String(pressed));
			for (const t of this.timelines) f(t, pressed);
		});
	}
}

function summary(run) {
	return (run.label ? run.label + ": " : "") + "timeline of " + plural(run.spans.n, "interval") + " and " + plural(run.marks.n, "event") + " in " + plural(run.lanes.n, "lane") + ", " + duration(run.length) +
		(run.missing.length ? ", events are missing" : "") + ". The tables below have the same data.";
}

function omissions(runs) {
	const parts = [];
	for (const run of runs) {
		const { spans, marks, lines, merged } = run.omitted, list = [];
		if (merged) list.push(plural(merged, "short interval") + " merged into striped boxes");
		if (spans) list.push(plural(spans, "interval") + " left out");
		if (marks) list.push(plural(marks, "event") + " left out");
		if (lines) list.push(plural(lines, "line") + " of output left out");
		if (list.length) parts.push((run.label ? run.label + ": " : "") + list.join(", ") + ".");
	}
	return parts.join(" ");
}

function prepare(run) {
	grow(run);
	const failures = [], errors = [];
	for (let i = 0; i < run.spans.n; i++) if (failed(run.spans, i)) failures.push(i);
	for (let i = 0; i < run.lines.n; i++) if (run.lines.stream[i] & lineFlag.error) errors.push(i);
	run.failures = failures;
	run.errorLines = errors;
	return run;
}

function start() {
	const control = document.getElementById("theme");
	control.hidden = false;
	theme.start(control);
	const data = document.getElementById("data");
	let report = null;
	try {
		const runs = decodeReport(data.textContent).map(prepare);
		data.remove();
		if (runs.length) report = new Report(runs);
	} catch (e) {
		if (!(e instanceof DataError)) throw e;
		document.getElementById("trouble").textContent = "The data of this report cannot be shown: " + e.message + ". The tables are complete.";
	}
	if (report) {
		for (const t of report.timelines) t.drawNow();
		report.drawn = performance.now();
		report.rest();
	}
	startTables(report || { selection: { at() {} } });
	window.report = report;
}

start();
