// Draws what has a moment and no duration: events, lines of output, and the time that is missing.

function drawMarks(p) {
	const { layout, run } = p, { time } = run.marks, hits = p.timeline.markMatches;
	for (let row = p.firstRow; row < p.lastRow; row++) {
		const end = layout.firstMark[row + 1], y = p.y(row) + rowHeight - 5;
		const x = k => (k < end ? p.x(time[layout.markOrder[k]]) : Infinity);
		let last = -Infinity;
		for (let at = lastBefore(layout.markOrder, layout.firstMark[row], end, time, p.from) + 1; x(at) <= p.width; at++) {
			const here = x(at), hit = hits && hits[layout.markOrder[at]];
			if (here < last + 2 && !hit) continue;
			const alone = here - last > 8 && x(at + 1) - here > 8;
			p.ctx.fillStyle = hit ? p.c.accent : hits || !alone ? p.c.faint : p.c.soft;
			if (alone || hit) diamond(p.ctx, here, y); else p.ctx.fillRect(Math.floor(here), y, 1, 3);
			last = here;
		}
	}
}

function diamond(ctx, x, y) {
	ctx.beginPath();
	ctx.moveTo(x, y - 4);
	ctx.lineTo(x + 3.5, y);
	ctx.lineTo(x, y + 4);
	ctx.lineTo(x - 3.5, y);
	ctx.fill();
}

// drawLines draws one tick per pixel with captured lines: amber if one is of standard error.
function drawLines(p) {
	if (!p.layout.top || p.firstRow > 0) return;
	const { lines } = p.run, { ctx } = p, y = p.y(0);
	const first = lowerBound(lines.time, p.from);
	ctx.fillStyle = p.c.faint;
	for (let i = first; i < lines.n && lines.time[i] <= p.timeline.view.to;) {
		const pixel = Math.floor(p.x(lines.time[i]));
		ctx.fillRect(pixel, y + 5, 1, rowHeight - 10);
		i = Math.max(i + 1, lowerBound(lines.time, p.from + (pixel + 1 - p.x0) / p.scale));
	}
	ctx.fillStyle = p.c.warn;
	let last = -1;
	for (const i of p.run.errorLines) {
		const pixel = Math.floor(p.x(lines.time[i]));
		if (pixel === last || pixel < p.x0 || pixel > p.width) continue;
		ctx.fillRect(last = pixel, y + 3, 1.5, rowHeight - 6);
	}
}

// lowerBound is the first index whose time is not below.
function lowerBound(times, time) {
	let low = 0, high = times.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (times[mid] < time) low = mid + 1; else high = mid;
	}
	return low;
}

// drawMissing covers the time in which events were lost with a red band, at least two pixels wide.
function drawMissing(p) {
	const { ctx } = p;
	for (const [from, to] of p.run.missing) {
		const left = Math.max(p.x(from), p.x0), right = Math.min(p.x(to), p.width);
		if (right < p.x0 || left > p.width) continue;
		const wide = Math.max(2, right - left);
		ctx.fillStyle = p.c.missing;
		ctx.fillRect(left, axisHeight, wide, p.timeline.height);
		ctx.fillStyle = p.c["bad-box"];
		ctx.fillRect(left, axisHeight, wide, 3);
	}
}
