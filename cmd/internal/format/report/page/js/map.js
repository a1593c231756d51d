// The map: the whole run, how many processes were at work, what is missing, and the range in view.

class OverviewMap {
	constructor(canvas, runs, view) {
		Object.assign(this, { canvas, runs, view, ctx: canvas.getContext("2d", { alpha: false }) });
		const move = e => {
			const box = canvas.getBoundingClientRect(), part = (e.clientX - box.left - this.x0) / (box.width - this.x0);
			if (this.grip === undefined) this.grip = Math.abs(part * view.length - (view.from + view.to) / 2) < view.span / 2 ? part * view.length - view.from : view.span / 2;
			view.stop();
			view.set(part * view.length - this.grip, part * view.length - this.grip + view.span);
		};
		canvas.addEventListener("pointerdown", e => {
			canvas.setPointerCapture(e.pointerId);
			this.grip = undefined;
			move(e);
		});
		canvas.addEventListener("pointermove", e => { if (canvas.hasPointerCapture(e.pointerId)) move(e); });
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		this.x0 = gutterOf(this.canvas.clientWidth); // below each other: the map, the timelines, the curves
		this.width = this.canvas.clientWidth - this.x0;
		this.height = this.canvas.clientHeight;
		this.canvas.width = Math.round((this.width + this.x0) * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.ctx.setTransform(ratio, 0, 0, ratio, this.x0 * ratio, 0);
		this.shape = null;
		this.draw();
	}

	// heights is the largest number of processes at work, or of events, in each pixel of each run.
	heights() {
		this.shape = this.runs.map(run => {
			const columns = new Float64Array(Math.max(1, this.width)), { curves } = run;
			const busy = Math.max(0, ...sample(curves.running)) > 0 ? curves.running : curves.events;
			for (let i = 0; i < curves.n; i++) {
				const from = Math.floor(curves.time[i] / this.view.length * this.width);
				const to = (i + 1 < curves.n ? curves.time[i + 1] : run.length) / this.view.length * this.width;
				for (let x = from; x < Math.max(to, from + 1) && x < columns.length; x++) columns[x] = Math.max(columns[x], busy[i]);
			}
			return { columns, most: columns.reduce((a, b) => Math.max(a, b), 1) };
		});
	}

	draw() {
		const { ctx, width, height, view } = this, c = colours.css, each = height / this.runs.length;
		if (!this.shape) this.heights();
		ctx.fillStyle = c.card;
		ctx.fillRect(-this.x0, 0, width + this.x0, height);
		this.runs.forEach((run, r) => {
			const bottom = each * (r + 1), { columns, most } = this.shape[r];
			ctx.fillStyle = c.faint;
			ctx.globalAlpha = 0.45;
			for (let x = 0; x < columns.length; x++) {
				const h = columns[x] / most * (each - 5);
				if (h > 0) ctx.fillRect(x, bottom - h, 1, h);
			}
			ctx.globalAlpha = 1;
			ctx.fillStyle = c["bad-box"];
			for (const [from, to] of run.missing) ctx.fillRect(from / view.length * width, each * r, Math.max(2, (to - from) / view.length * width), each);
		});
		const left = view.from / view.length * width, right = Math.max(left + 3, view.to / view.length * width);
		ctx.fillStyle = c.accent;
		ctx.globalAlpha = 0.12;
		ctx.fillRect(left, 0, right - left, height);
		ctx.globalAlpha = 1;
		ctx.fillRect(left, 0, 2, height);
		ctx.fillRect(right - 2, 0, 2, height);
		ctx.fillStyle = c.soft;
		ctx.font = boxFont;
		ctx.textBaseline = "middle";
		ctx.fillText(duration(view.span), 20 - this.x0, height / 2);
	}
}

// sample keeps the arguments of a call few: the largest of each thousand.
function sample(values) {
	const list = [];
	for (let i = 0; i < values.length; i++) list[Math.floor(i / 1000)] = Math.max(list[Math.floor(i / 1000)] || 0, values[i]);
	return list;
}
