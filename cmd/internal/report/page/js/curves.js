// Curves over time, drawn by uPlot: processes at work, events per second. They lie below the
// timelines, show the same range, and have a line for each run.

class Curves {
	constructor(report, parent) {
		Object.assign(this, { report, parent, plots: [] });
		this.runs = report.runs.filter(r => r.curves.n);
		if (!this.runs.length) return;
		this.add("processes at work", r => r.curves.running, true);
		this.add("events per second", r => r.curves.events.map((n, i) => n * 1e9 / Math.max(1, (i + 1 < r.curves.n ? r.curves.time[i + 1] : r.length) - r.curves.time[i])), false);
		report.view.onChange(() => this.later());
		theme.onChange(() => { for (const p of this.plots) p.redraw(false); });
	}

	add(title, values, stepped) {
		const tables = this.runs.map(r => [Array.from(r.curves.time, t => t / 1e9).concat(r.length / 1e9), Array.from(values(r)).concat(0)]);
		const most = tables.map(t => t[1].reduce((a, b) => Math.max(a, b), 0));
		if (!Math.max(...most)) return;
		const box = element("div", { class: "curve" });
		const heading = element("h3", { text: title });
		this.runs.forEach((r, i) => {
			heading.append(i || !r.label ? ", " : ": ");
			if (r.label) heading.append(element("span", { class: "key" + (i === this.runs.length - 1 ? " latest" : ""), attributes: { "aria-hidden": "true" } }), r.label + " ");
			heading.append("at most " + count(Math.round(most[i])));
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
		for (const [from, to] of this.runs.flatMap(r => r.missing)) {
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

function compact(n) {
	if (n >= 1e6) return trimmed(n / 1e6) + "M";
	return n >= 1e4 ? trimmed(n / 1e3) + "k" : Number.isInteger(n) ? String(n) : "";
}
