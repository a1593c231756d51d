// Curves over time, drawn by uPlot: processes at work, events per second. They show the same range
// as the timelines.

class Curves {
	constructor(report, parent) {
		Object.assign(this, { report, parent, plots: [] });
		const runs = report.runs.filter(r => r.curves.n);
		for (const run of runs) {
			const { curves } = run, prefix = run.label ? run.label + ": " : "";
			const times = Array.from(curves.time, t => t / 1e9);
			if (hasAny(curves.running)) this.add(run, prefix + "processes at work", [times, Array.from(curves.running)], true);
			const rates = Array.from(curves.events, (n, i) => n / Math.max(1e-9, ((i + 1 < curves.n ? curves.time[i + 1] : run.length) - curves.time[i]) / 1e9));
			if (hasAny(curves.events)) this.add(run, prefix + "events per second", [times, rates], false);
		}
		report.view.onChange(() => this.later());
		theme.onChange(() => { for (const p of this.plots) p.redraw(false); });
		this.follow();
	}

	add(run, title, data, stepped) {
		const box = element("div", { class: "curve", attributes: { role: "img", "aria-label": title + ", at most " + count(Math.round(data[1].reduce((a, b) => Math.max(a, b), 0))) } });
		box.append(element("h3", { text: title, attributes: { "aria-hidden": "true" } }));
		this.parent.append(box);
		const { css } = colours, axis = { stroke: () => css.soft, grid: { stroke: () => css.grid, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", gap: 4 };
		const plot = new uPlot({
			width: Math.max(200, box.clientWidth), height: 130, legend: { show: false }, cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
			scales: { x: { time: false, auto: false, range: () => [this.report.view.from / 1e9, this.report.view.to / 1e9] }, y: { range: (u, low, high) => [0, Math.max(1, (high || 0) * 1.1)] } },
			axes: [{ ...axis, size: 28, values: (u, list) => list.map(s => tickLabel(Math.round(s * 1e9), (list[1] - list[0]) * 1e9 || 1e9)) }, { ...axis, size: timelineGutter(), values: (u, list) => list.map(compact) }],
			series: [{}, { stroke: () => css.accent, width: 1.25, fill: () => css["accent-soft"], paths: stepped ? uPlot.paths.stepped({ align: 1 }) : undefined, points: { show: false } }],
			hooks: { drawClear: [u => this.missing(u, run)], setSelect: [u => this.select(u)] },
		}, data, box);
		this.plots.push(plot);
	}

	missing(u, run) {
		u.ctx.save();
		u.ctx.fillStyle = colours.css.missing;
		for (const [from, to] of run.missing) {
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

	later() {
		clearTimeout(this.timer); // after the timelines, whose response matters more
		this.timer = setTimeout(() => this.follow(), 60);
	}

	follow() {
		const { from, to } = this.report.view;
		for (const p of this.plots) p.setScale("x", { min: from / 1e9, max: to / 1e9 });
	}

	resize() {
		for (const p of this.plots) p.setSize({ width: Math.max(200, p.root.parentElement.clientWidth), height: 130 });
	}
}

function hasAny(values) {
	for (let i = 0; i < values.length; i++) if (values[i]) return true;
	return false;
}

function timelineGutter() {
	return 56;
}

function compact(n) {
	if (n >= 1e6) return trimmed(n / 1e6) + "M";
	return n >= 1e4 ? trimmed(n / 1e3) + "k" : Number.isInteger(n) ? String(n) : "";
}
