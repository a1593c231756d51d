// Curves over time, drawn by uPlot: processes at work, events per second. They lie below the
// timelines, show the same range, and have a line for each run.

class Curves {
	constructor(report, parent) {
		Object.assign(this, { report, parent, plots: [] });
		this.runs = report.runs.filter(r => r.curves.n);
		for (const run of report.runs) {
			this.addArea("memory", run, "memory", bytes);
			this.addArea("processors in use", run, "processors", n => (Math.round(n * 100) / 100).toLocaleString("en-US"));
		}
		if (this.runs.some(r => greatest(r.curves.running) > 1)) this.add("processes at work", r => [r.curves.time, r.curves.running], true);
		if (this.runs.some(r => ownEvents(r) >= leastEvents)) {
			const rates = new Map(this.runs.map(r => [r, eventRate(r)]));
			this.add("events per second", r => rates.get(r), false, busiest);
		}
		report.view.onChange(() => this.later());
		theme.onChange(() => { for (const p of this.plots) p.redraw(false); });
	}

	// add adds a curve. values returns the times of a run in ns and the value from each on, most
	// describes the largest one.
	add(title, values, stepped, most = r => "at most " + count(greatest(values(r)[1]))) {
		const tables = this.runs.map(r => values(r)).map(([times, list], i) => [Array.from(times, t => t / 1e9).concat(this.runs[i].length / 1e9), Array.from(list).concat(0)]);
		if (!tables.some(t => greatest(t[1]))) return;
		const box = element("div", { class: "curve" });
		const heading = element("h3", { text: title });
		this.runs.forEach((r, i) => {
			heading.append(i || !r.label ? ", " : ": ");
			if (r.label) heading.append(element("span", { class: "key" + (i === this.runs.length - 1 ? " latest" : ""), attributes: { "aria-hidden": "true" } }), r.label + " ");
			heading.append(most(r));
		});
		box.append(heading);
		this.parent.append(box);
		const { css } = colours, last = this.runs.length - 1;
		const series = this.runs.map((r, i) => ({
			stroke: () => (i === last ? css.accent : css.warn), width: 1.25, fill: i === last ? () => css["accent-soft"] : undefined,
			paths: stepped ? uPlot.paths.stepped({ align: 1 }) : undefined, points: { show: false }, spanGaps: true,
		}));
		this.plots.push(new uPlot(this.options(box, [{}, ...series]), uPlot.join(tables), box));
	}

	// addArea adds areas one upon the other, one for each program of a run. Each is drawn from the bottom to
	// its upper edge, the highest first. The heading has the largest numbers, or those of the sample at the cursor.
	addArea(title, run, member, text) {
		const { n, time, programs } = run.usage;
		if (!n || !programs.some(p => greatest(p[member]))) return;
		const present = programs.filter(p => greatest(p[member])), sums = [], sum = new Float64Array(n);
		for (const p of present) sums.push(sum.forEach((v, i) => { sum[i] = v + p[member][i]; }) || Array.from(sum));
		const box = element("div", { class: "curve" }), most = greatest(sum);
		const heading = element("h3"), name = title + (run.label ? " of " + run.label : "");
		const head = heading.appendChild(document.createTextNode("")), numbers = [];
		for (const [i, p] of present.entries()) {
			const key = element("span", { class: "key", attributes: { "aria-hidden": "true" } });
			key.style.borderColor = areaColour(i, p);
			heading.append(i ? ", " : "; ", key, p.name + " ", numbers[i] = document.createTextNode(""));
		}
		const show = sample => {
			head.data = name + (sample < 0 ? ": at most " + text(most) : " at " + duration(time[sample]) + ": " + text(sum[sample]));
			for (const [i, p] of present.entries()) numbers[i].data = text(sample < 0 ? greatest(p[member]) : p[member][sample]);
		};
		show(-1);
		box.append(heading);
		this.parent.append(box);
		const at = Array.from(time, t => t / 1e9), top = present.map((p, i) => i).reverse();
		const series = top.map(i => ({ stroke: () => areaColour(i, present[i]), fill: () => areaColour(i, present[i]), width: 1, paths: member === "memory" ? undefined : uPlot.paths.stepped({ align: 1 }), points: { show: false } }));
		const options = this.options(box, [{}, ...series]);
		options.axes[1].values = (u, list) => list.map(v => (v || member !== "memory" ? text(v) : "0"));
		options.hooks.setCursor = [u => show(u.cursor.left < 0 ? -1 : sampleAt(at, u.posToVal(u.cursor.left, "x"), member === "memory"))];
		if (member !== "memory") options.scales.y.range = (u, low, high) => [0, Math.max(0.1, (high || 0) * 1.1)];
		this.plots.push(new uPlot(options, [at, ...top.map(i => sums[i])], box));
	}

	options(box, series) {
		const { css } = colours, { view } = this.report;
		const axis = { stroke: () => css.soft, grid: { stroke: () => css.grid, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", gap: 4 };
		const width = Math.max(200, box.clientWidth);
		return {
			width, height: 112, padding: [6, 0, 0, 0], legend: { show: false }, cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
			scales: { x: { time: false, auto: false, range: () => [view.from / 1e9, view.to / 1e9] }, y: { range: (u, low, high) => [0, Math.max(1, (high || 0) * 1.1)] } },
			axes: [
				{ ...axis, size: 24, splits: u => ticks(view.from, view.to, u.bbox.width / devicePixelRatio).list.map(t => t / 1e9), values: (u, list) => list.map(s => (u.valToPos(s, "x") > u.bbox.width / devicePixelRatio - 25 ? "" : tickLabel(Math.round(s * 1e9), (list[1] - list[0]) * 1e9 || 1e9))) },
				{ ...axis, size: () => gutterOf(this.parent.clientWidth), space: 28, values: (u, list) => list.map(compact) },
			],
			series, hooks: { drawClear: [u => this.missing(u)], setSelect: [u => this.select(u)] },
		};
	}

	missing(u) {
		u.ctx.save();
		u.ctx.fillStyle = colours.css.missing;
		for (const [from, to] of this.report.runs.flatMap(r => r.missing)) {
			const left = Math.max(u.valToPos(from / 1e9, "x", true), u.bbox.left), right = Math.min(u.valToPos(to / 1e9, "x", true), u.bbox.left + u.bbox.width);
			if (right >= u.bbox.left && left <= u.bbox.left + u.bbox.width) u.ctx.fillRect(left, u.bbox.top, Math.max(2, right - left), u.bbox.height);
		}
		u.ctx.restore();
	}

	select(u) {
		if (u.select.width < 3) return;
		const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
		u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
		this.report.view.go(from * 1e9, to * 1e9);
	}

	// later follows the view after the timelines, whose response matters more.
	later() {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			const { from, to } = this.report.view;
			for (const p of this.plots) p.setScale("x", { min: from / 1e9, max: to / 1e9 });
		}, 60);
	}

	resize() {
		for (const p of this.plots) p.setSize({ width: Math.max(200, p.root.parentElement.clientWidth), height: 112 });
	}
}

// sampleAt returns the index of the sample at a time: the nearest, or the last one until then, whose numbers hold
// until the next.
function sampleAt(times, time, nearest) {
	let i = 0;
	while (i + 1 < times.length && (nearest ? times[i + 1] - time < time - times[i] : times[i + 1] <= time)) i++;
	return i;
}

// areaColour returns the colour of an area.
function areaColour(i, { others }) {
	return others ? colours.css.faint : colours.boxes[1][i * 2 % colours.boxes[1].length];
}

const leastEvents = 50; // for a curve of them

// ownEvents counts the events of a run's spans, its system calls and its own types. The curve of processes
// and the marks of the output say what those of commands and lines would.
function ownEvents({ spans, marks }) {
	let n = 0;
	for (let i = 0; i < spans.n; i++) if (spans.kind[i]) n += spans.count[i];
	for (let i = 0; i < marks.n; i++) n += marks.count[i];
	return n;
}

function greatest(list) {
	return list.reduce((a, b) => Math.max(a, b), 0);
}

const leastStep = 10e6; // ns: in less time, one event would already be thousands per second

// eventRate returns the times of steps that are long enough for a rate, and the rate in each.
function eventRate({ curves, length }) {
	const width = leastStep, times = [], rates = [];
	for (let i = 0; i < curves.n; i++) {
		if (!times.length || curves.time[i] >= times[times.length - 1] + width) {
			times.push(curves.time[i]);
			rates.push(0);
		}
		rates[rates.length - 1] += curves.events[i];
	}
	const long = (from, i) => Math.max(width, (i + 1 < times.length ? times[i + 1] : length) - from);
	return [times, rates.map((n, i) => n * 1e9 / long(times[i], i))];
}

// busiest says how many events the busiest second has, as far as the steps can say.
function busiest({ curves, length }) {
	const { time, events, n } = curves, step = n > 1 ? time[1] - time[0] : length, window = length <= 1e9 ? Infinity : Math.max(1e9, step);
	let most = 0, sum = 0;
	for (let i = 0, from = 0; i < n; i++) {
		sum += events[i];
		for (; time[i] + step - time[from] > window && from < i; from++) sum -= events[from];
		most = Math.max(most, sum);
	}
	if (length <= 1e9) return count(most) + " in " + duration(length);
	return "at most " + count(most) + " in " + (window > 1e9 ? duration(window) : "a second");
}

function compact(n) {
	if (n >= 1e6) return trimmed(n / 1e6) + "M";
	return n >= 1e4 ? trimmed(n / 1e3) + "k" : Number.isInteger(n) ? String(n) : "";
}
