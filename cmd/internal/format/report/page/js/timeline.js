// One run's timeline: a canvas in a scroller, the layout of its lanes, and what is under a point.

class Timeline {
	constructor(run, view, parent, labels) {
		Object.assign(this, { run, view, packed: true, folded: new Set(), selected: null, cursor: null, matches: null, markMatches: null, onlyChain: false, cache: new Map() });
		this.canvas = element("canvas", { attributes: { tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-label": labels, "aria-describedby": "panel-name" } });
		this.spacer = element("div");
		this.scroller = element("div", { class: "scroller" }, this.canvas, this.spacer);
		this.box = element("div", { class: "lanes" }, this.scroller);
		parent.append(this.box);
		this.ctx = this.canvas.getContext("2d", { alpha: false });
		this.scroller.addEventListener("scroll", () => this.draw());
		this.relayout();
	}

	relayout() {
		this.layout = new Layout(this.run, this.packed, this.folded);
		this.deep = null;
		this.resize();
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		const limit = theme.printing ? 4000 : Math.max(160, Math.min(640, window.innerHeight * (this.box.nextSibling || this.box.previousSibling ? 0.38 : 0.62)));
		const whole = Math.max(this.layout.height, rowHeight * 2) + axisHeight + 6;
		this.width = this.scroller.clientWidth;
		this.height = Math.min(whole, Math.floor(limit));
		this.gutter = gutterOf(this.width);
		this.canvas.style.height = this.height + "px";
		this.spacer.style.height = whole - this.height + "px";
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.ratio = ratio;
		this.draw();
	}

	// draw draws before the next frame, once.
	draw() {
		this.pending = this.pending || requestAnimationFrame(() => this.drawNow());
	}

	drawNow() {
		if (this.pending) cancelAnimationFrame(this.pending);
		this.pending = 0;
		if (this.width < 40) return;
		const begin = performance.now();
		this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		new Painter(this, this.ctx).draw();
		this.took = performance.now() - begin;
	}

	time(x) {
		return this.view.from + (x - this.gutter) / (this.width - this.gutter) * this.view.span;
	}

	x(time) {
		return this.gutter + (time - this.view.from) / this.view.span * (this.width - this.gutter);
	}

	// indent is that of a lane's name where each lane has rows of its own.
	indent(lane) {
		if (this.packed) return 0;
		if (!this.deep) {
			this.deep = new Int32Array(this.run.lanes.n);
			for (const l of this.run.lanesInOrder) for (const c of this.run.children[l]) this.deep[c] = this.deep[l] + 1;
		}
		return Math.min(this.deep[lane], 7) * 10;
	}

	// hit is what is at a point of the canvas: {kind: "span", "mark", "line" or "lane", index}, or null.
	hit(x, y) {
		const row = Math.floor((y - axisHeight + this.scroller.scrollTop) / rowHeight);
		if (y < axisHeight || row < 0 || row >= this.layout.rows) return null;
		if (x < this.gutter) return this.layout.lane[row] >= 0 ? { kind: "lane", index: this.layout.lane[row] } : null;
		const reach = 4 / (this.width - this.gutter) * this.view.span, time = this.time(x);
		if (row < this.layout.top) return nearest("line", this.run.lines.time, null, 0, this.run.lines.n, time, reach);
		const low = (y - axisHeight + this.scroller.scrollTop) % rowHeight > rowHeight / 2;
		const mark = nearest("mark", this.run.marks.time, this.layout.markOrder, this.layout.firstMark[row], this.layout.firstMark[row + 1], time, reach);
		const span = this.spanNear(row, time, reach / 2);
		return mark && (low || !span) ? mark : span;
	}

	spanNear(row, time, reach) {
		const { order, first } = this.layout, { start, dur } = this.run.spans;
		const at = lastBefore(order, first[row], first[row + 1], start, time);
		for (const k of [at, at + 1]) {
			if (k < first[row] || k >= first[row + 1]) continue;
			const i = order[k];
			if (start[i] - reach <= time && start[i] + dur[i] + reach >= time) return { kind: "span", index: i };
		}
		return null;
	}

	// reveal scrolls to the row, and unfolds the processes that hide the lane.
	reveal(kind, index) {
		const { run } = this;
		const lane = kind === "span" ? run.spans.lane[index] : kind === "mark" ? run.marks.lane[index] - 1 : -1;
		if (lane >= 0) {
			const before = this.folded.size;
			for (let l = lane, hops = 0; l >= 0 && hops < run.lanes.n; l = run.lanes.parent[l] - 1, hops++) if (l !== lane || this.layout.rowOf[index] < 0) this.folded.delete(l);
			if (this.folded.size !== before) this.relayout();
		}
		const row = kind === "span" ? this.layout.rowOf[index] : kind === "mark" ? this.layout.markRow[index] : 0;
		const y = row * rowHeight, s = this.scroller;
		if (y < s.scrollTop || y + rowHeight * 2 > s.scrollTop + this.height - axisHeight) s.scrollTop = Math.max(0, y - this.height / 2);
	}

	fold(lane) {
		if (!this.run.children[lane].length && this.run.buckets.depths(lane) < 2) return;
		if (!this.folded.delete(lane)) this.folded.add(lane);
		this.relayout();
	}
}

function gutterOf(width) {
	return Math.round(Math.min(190, width * 0.2));
}

// nearest is the item of a list, in order of time, that is nearest to the time and within reach.
function nearest(kind, times, order, from, to, time, reach) {
	const index = k => (order ? order[k] : k);
	let low = from, high = to;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (times[index(mid)] < time) low = mid + 1; else high = mid;
	}
	let best = null, distance = reach;
	for (const k of [low - 1, low]) {
		if (k < from || k >= to || Math.abs(times[index(k)] - time) > distance) continue;
		distance = Math.abs(times[index(k)] - time);
		best = { kind, index: index(k) };
	}
	return best;
}
