// Draws a timeline: what is narrower than a pixel is drawn once per pixel, and found by binary
// search, so that the cost depends on the size of the picture and not on the number of spans.

const boxFont = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

// failed reports whether a command or a span failed. That a system call returned an error is usual.
function failed(spans, i) {
	return spans.flags[i] & flag.failed && spans.kind[i] < 2;
}

// withData adds the first line of a span's data to its name, if that does not have it.
function withData(name, text) {
	const line = text.slice(0, 100).split("\n", 1)[0];
	return line && !name.includes(line) ? name + " " + line : name;
}

class Painter {
	constructor(timeline, ctx) {
		Object.assign(this, { timeline, ctx, run: timeline.run, layout: timeline.layout, c: colours.css });
		this.x0 = timeline.gutter;
		this.width = timeline.width;
		this.from = timeline.view.from;
		this.scale = (this.width - this.x0) / timeline.view.span;
		this.top = timeline.scroller.scrollTop - axisHeight;
		this.firstRow = Math.max(0, Math.floor((this.top + axisHeight) / rowHeight));
		this.lastRow = Math.min(this.layout.rows, Math.ceil((this.top + timeline.height) / rowHeight));
	}

	x(time) {
		return this.x0 + (time - this.from) * this.scale;
	}

	time(x) {
		return this.from + (x - this.x0) / this.scale;
	}

	y(row) {
		return row * rowHeight - this.top;
	}

	draw() {
		const { ctx, c } = this;
		ctx.fillStyle = c.card;
		ctx.fillRect(0, 0, this.width, this.timeline.height);
		ctx.font = boxFont;
		ctx.textBaseline = "middle";
		this.ticks = ticks(this.from, this.timeline.view.to, this.width - this.x0);
		this.grid();
		this.dimmed = Boolean(this.timeline.matches);
		for (let row = this.firstRow; row < this.lastRow; row++) this.row(row);
		this.rare(this.run.failures, groupWidth);
		if (this.timeline.matches) this.rare(this.timeline.matches, 0);
		this.chain();
		drawMarks(this);
		drawLines(this);
		drawMissing(this);
		this.selection();
		this.gutter();
		this.axis();
	}

	grid() {
		const { ctx } = this;
		ctx.fillStyle = this.c.grid;
		for (const t of this.ticks.list) ctx.fillRect(Math.round(this.x(t)), axisHeight, 1, this.timeline.height);
	}

	// row draws the boxes of a row. Narrow ones close to each other become a group; where the picture is
	// dimmed, a run of boxes below a pixel becomes one of the colour of the first.
	row(row) {
		const { layout, run } = this, { start, dur } = run.spans, { order } = layout;
		const end = layout.first[row + 1], view = this.timeline.view, whole = !this.dimmed && !this.timeline.onlyChain;
		let at = Math.max(layout.first[row], lastBefore(order, layout.first[row], end, start, this.from));
		const y = this.y(row);
		while (at < end) {
			const i = order[at], s = start[i];
			if (s > view.to) break;
			const left = this.x(s), right = this.x(s + dur[i]);
			const group = whole && right - left < groupWidth && groupOf(this, at, end);
			if (group) {
				if (group.right >= this.x0) this.group(group, y);
				at = group.next;
				continue;
			}
			if (right - left >= 1.5) {
				if (right >= this.x0) this.box(i, left, right, y);
				at++;
				continue;
			}
			const pixel = Math.floor(left) + 1; // skip to the first box that reaches the next pixel
			let next = lastBefore(order, at, end, start, this.time(pixel));
			if (next <= at) next = at + 1;
			else if (start[order[next]] + dur[order[next]] < this.time(pixel)) next++;
			if (left >= this.x0 - 1) this.sliver(i, Math.floor(left), y);
			at = next;
		}
	}

	// group draws a group in the colour of what most of it is, paler if there is time between its boxes.
	group({ count: n, left, right, part, seen }, y) {
		const { ctx, run } = this, { spans } = run, tally = new Tally(), hues = new Map();
		for (const i of seen) {
			const weight = Math.max(spans.dur[i], 1), hue = hueOf(run, spans.name[i]) & ~1;
			tally.add(run.strings[spans.name[i]], weight);
			hues.set(hue, (hues.get(hue) || 0) + weight);
		}
		const hue = [...hues].reduce((a, b) => (b[1] > a[1] ? b : a))[0], kind = Math.min(spans.kind[seen[0]], 2);
		left = Math.max(left, this.x0 - 4);
		right = Math.min(right, this.width + 4);
		ctx.globalAlpha = 0.4 + 0.6 * part;
		ctx.fillStyle = colours.boxes[kind][hue];
		ctx.fillRect(left, y + 1, right - left, rowHeight - 2);
		ctx.globalAlpha = 1;
		this.stripes(left, right, y);
		this.text(count(n) + " × " + tally.text(), left, right, y, this.c["box-ink"]);
	}

	sliver(i, x, y) {
		const { spans } = this.run;
		this.ctx.fillStyle = this.dim(i) ? this.c.line : failed(spans, i) ? this.c["bad-box"] : colours.edges[hueOf(this.run, spans.name[i])];
		this.ctx.fillRect(x, y + 1, 1, rowHeight - 2);
	}

	// dim reports whether a span steps back behind the matches of a search, or behind the chain.
	dim(i) {
		return this.dimmed || this.timeline.onlyChain && !this.run.onChain[i];
	}

	// box draws a span that is at least a pixel wide, with its name where there is room.
	box(i, left, right, y) {
		const { ctx, run } = this, { spans } = run, flags = spans.flags[i];
		left = Math.max(left, this.x0 - 4);
		right = Math.min(right, this.width + 4);
		const hue = hueOf(run, spans.name[i]), kind = Math.min(spans.kind[i], 2), gap = right - left > 4 ? 1 : 0;
		if (this.dim(i)) {
			ctx.fillStyle = colours.dim[kind];
			ctx.fillRect(left, y + 1, right - left - gap, rowHeight - 2);
			if (right - left > groupWidth) this.label(i, left, right, y, this.c.faint);
			return;
		}
		ctx.fillStyle = flags & flag.failed ? this.c.fail : colours.boxes[kind][hue];
		ctx.fillRect(left, y + 1, right - left - gap, rowHeight - 2);
		if (right - left > 6) {
			ctx.fillStyle = failed(spans, i) ? this.c["bad-box"] : colours.edges[hue];
			ctx.fillRect(left, y + 1, failed(spans, i) ? 3 : 2, rowHeight - 2);
		}
		if (flags & flag.merged && right - left > 3) this.stripes(left, right - gap, y);
		if (flags & (flag.unfinished | flag.overlaps) && right - left > 3) this.doubts(flags, left, right - gap, y);
		if (right - left > groupWidth) this.label(i, left, right, y, flags & flag.failed ? this.c["fail-ink"] : this.c["box-ink"]);
	}

	// doubts marks a span without an end at its right, and one that crosses another at its top.
	doubts(flags, left, right, y) {
		this.ctx.fillStyle = this.c.warn;
		if (flags & flag.unfinished) this.ctx.fillRect(right - 2, y + 1, 2, rowHeight - 2);
		if (flags & flag.overlaps) for (let x = Math.round(left); x < right; x += 6) this.ctx.fillRect(x, y + 1, Math.min(3, right - x), 1);
	}

	stripes(left, right, y) {
		const { ctx } = this;
		ctx.fillStyle = this.c.faint;
		for (let x = Math.ceil(left / 5) * 5; x < right; x += 5) ctx.fillRect(x, y + rowHeight - 5, 2, 3);
	}

	label(i, left, right, y, ink) {
		const { spans, strings } = this.run, name = strings[spans.name[i]];
		this.text(spans.count[i] > 1 ? count(spans.count[i]) + " × " + name.slice(0, 200) : spans.kind[i] === 1 ? withData(name, strings[spans.text[i]]) : name, left, right, y, ink);
	}

	text(text, left, right, y, ink) {
		left = Math.max(left, this.x0) + 6;
		const cut = this.fit(text, right - left - 4);
		if (!cut) return;
		this.ctx.fillStyle = ink;
		this.ctx.fillText(cut, left, y + rowHeight / 2 + 0.5);
	}

	// fit cuts a text to a width.
	fit(text, room) {
		const { cache } = this.timeline;
		let known = cache.get(text);
		if (!known) {
			const shown = excerpt(text, 200);
			known = { shown, width: this.ctx.measureText(shown).width };
			if (cache.size > 20000) cache.clear();
			cache.set(text, known);
		}
		if (known.width <= room) return known.shown;
		const letters = Math.floor(known.shown.length * (room - 8) / known.width);
		return letters > 1 ? known.shown.slice(0, letters).trimEnd() + "…" : "";
	}

	// rare draws spans that must be seen at any zoom, at least two pixels wide. Boxes of the width
	// below which the rows merge them, or any (0).
	rare(list, below) {
		const { run, layout } = this, { start, dur } = run.spans, to = this.timeline.view.to;
		const last = new Float64Array(this.layout.rows).fill(-Infinity), { dimmed } = this;
		this.dimmed = false;
		for (let k = 0; k < list.length; k++) {
			const i = list[k], row = layout.rowOf[i];
			if (start[i] > to) break;
			if (row < this.firstRow || row >= this.lastRow || start[i] + dur[i] < this.from) continue;
			const left = this.x(start[i]), right = this.x(start[i] + dur[i]);
			if (below && right - left >= below || right < last[row] + 1) continue;
			last[row] = right;
			if (right - left >= 2) this.box(i, left, right, this.y(row));
			else this.speck(i, left, this.y(row), below);
		}
		this.dimmed = dimmed;
	}

	speck(i, left, y, below) {
		this.ctx.fillStyle = this.run.spans.flags[i] & flag.failed ? this.c["bad-box"] : below ? this.c.ink : this.c.accent;
		this.ctx.fillRect(Math.floor(left), y + 1, 2, rowHeight - 2);
	}

	// chain underlines what decided the wall time and connects it from box to box.
	chain() {
		const { ctx, layout, run } = this;
		ctx.fillStyle = this.c.chain;
		let before = null, wide = 0;
		for (const [i, from, dur] of run.chain) {
			const row = layout.rowOf[i];
			if (row < 0) continue;
			const left = this.x(from), right = this.x(from + dur), y = this.y(row) + rowHeight - 3;
			if (right >= this.x0 && left <= this.width) ctx.fillRect(Math.max(left, this.x0), y, Math.max(1, right - Math.max(left, this.x0)), 2);
			if (before !== null && before !== y && left >= this.x0 && left <= this.width && wide >= 4 && right - left >= 4) {
				ctx.fillRect(Math.round(left), Math.min(before, y), 1, Math.abs(y - before) + 2); // thousands would be a comb
			}
			before = y;
			wide = right - left;
		}
	}

	selection() {
		const { ctx, timeline } = this, s = timeline.selected;
		if (timeline.cursor !== null) {
			ctx.fillStyle = this.c.accent;
			ctx.fillRect(Math.round(this.x(timeline.cursor)), axisHeight, 1, timeline.height);
		}
		if (!s || s.kind !== "span") return;
		const row = this.layout.rowOf[s.index];
		if (row < 0) return;
		const { start, dur } = this.run.spans;
		const left = Math.max(this.x(start[s.index]), -4), right = Math.min(this.x(start[s.index] + dur[s.index]), this.width + 4);
		ctx.strokeStyle = this.c.accent;
		ctx.lineWidth = 2;
		ctx.strokeRect(left - 1, this.y(row), Math.max(3, right - left + 1), rowHeight);
	}

	gutter() {
		const { ctx, layout, run } = this;
		ctx.fillStyle = this.c.card;
		ctx.fillRect(0, 0, this.x0, this.timeline.height);
		ctx.fillStyle = this.c.line;
		ctx.fillRect(this.x0 - 1, 0, 1, this.timeline.height);
		for (let row = this.firstRow; row < this.lastRow; row++) {
			if (!layout.labels[row]) continue;
			const lane = layout.lane[row], y = this.y(row) + rowHeight / 2 + 0.5;
			const indent = 20 + (lane >= 0 ? this.timeline.indent(lane) : 0);
			if (lane >= 0 && run.children[lane].length) this.triangle(indent - 11, y, this.timeline.folded.has(lane));
			let room = this.x0 - indent - 6;
			if (layout.lanesIn[row] > 1 && room > 90) {
				const n = count(layout.lanesIn[row]), width = ctx.measureText(n).width;
				ctx.fillStyle = this.c.soft;
				ctx.fillText(n, this.x0 - 8 - width, y);
				room -= width + 10;
			}
			ctx.fillStyle = row < layout.top ? this.c.soft : this.c.ink;
			ctx.fillText(this.fit(layout.labels[row], room), indent, y);
		}
	}

	triangle(x, y, folded) {
		const { ctx } = this;
		ctx.fillStyle = this.c.soft;
		ctx.beginPath();
		if (folded) { ctx.moveTo(x - 2, y - 4); ctx.lineTo(x + 4, y); ctx.lineTo(x - 2, y + 4); } else { ctx.moveTo(x - 4, y - 3); ctx.lineTo(x + 4, y - 3); ctx.lineTo(x, y + 3); }
		ctx.fill();
	}

	axis() {
		const { ctx } = this;
		ctx.fillStyle = this.c.card;
		ctx.fillRect(0, 0, this.width, axisHeight);
		ctx.fillStyle = this.c.line;
		ctx.fillRect(0, axisHeight - 1, this.width, 1);
		for (const t of this.ticks.list) {
			const x = Math.round(this.x(t));
			ctx.fillStyle = this.c.line;
			ctx.fillRect(x, axisHeight - 6, 1, 6);
			ctx.fillStyle = this.c.soft;
			const label = tickLabel(t, this.ticks.step), w = ctx.measureText(label).width;
			if (x + w + 6 < this.width) ctx.fillText(label, x + 4, axisHeight / 2);
		}
		if (this.timeline.run.label) {
			ctx.fillStyle = this.c.ink;
			ctx.font = "600 " + boxFont;
			ctx.fillText(this.fit(this.timeline.run.label, this.x0 - 24), 10, axisHeight / 2);
			ctx.font = boxFont;
		}
	}
}
