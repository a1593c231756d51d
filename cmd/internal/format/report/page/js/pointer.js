// Mouse, pen and touch on a timeline. The wheel zooms if Ctrl is held, or once the timeline has
// the focus; before that it scrolls the page.

class Pointer {
	constructor(timeline, report) {
		Object.assign(this, { timeline, report, touches: new Map() });
		const { canvas } = timeline;
		canvas.addEventListener("wheel", e => this.wheel(e), { passive: false });
		canvas.addEventListener("pointerdown", e => this.down(e));
		canvas.addEventListener("pointermove", e => this.move(e));
		canvas.addEventListener("pointerup", e => this.up(e));
		canvas.addEventListener("pointercancel", e => this.end(e));
		canvas.addEventListener("pointerleave", () => hideTip());
		canvas.addEventListener("dblclick", e => {
			const hit = timeline.hit(e.offsetX, e.offsetY);
			if (hit && hit.kind === "span") this.report.selection.zoom();
		});
	}

	wheel(e) {
		const { timeline } = this, { view } = timeline;
		if (!e.ctrlKey && !e.metaKey && document.activeElement !== timeline.canvas) return;
		e.preventDefault();
		const unit = e.deltaMode === 1 ? 16 : 1;
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) view.pan((e.deltaX || e.deltaY) * unit / timeline.width);
		else view.zoom(timeline.time(Math.max(e.offsetX, timeline.gutter)), Math.exp(Math.max(-300, Math.min(300, e.deltaY * unit)) * 0.0025));
	}

	down(e) {
		if (e.button !== 0) return;
		const { timeline } = this;
		timeline.canvas.setPointerCapture(e.pointerId);
		timeline.canvas.focus({ preventScroll: true });
		this.touches.set(e.pointerId, e);
		this.start = { x: e.offsetX, y: e.offsetY, from: timeline.view.from, span: timeline.view.span, scroll: timeline.scroller.scrollTop, moved: false, range: e.shiftKey };
	}

	move(e) {
		const { timeline, start } = this;
		if (!this.touches.has(e.pointerId)) {
			showTip(timeline, e);
			return;
		}
		if (this.touches.size === 2) {
			this.pinch(e);
			return;
		}
		const dx = e.offsetX - start.x, dy = e.offsetY - start.y;
		if (!start.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
		start.moved = true;
		hideTip();
		if (start.range) return;
		timeline.scroller.classList.add("dragging");
		timeline.view.stop();
		const from = start.from - dx / (timeline.width - timeline.gutter) * start.span;
		timeline.view.set(from, from + start.span);
		timeline.scroller.scrollTop = start.scroll - dy;
	}

	pinch(e) {
		const before = [...this.touches.values()], { timeline } = this;
		this.touches.set(e.pointerId, e);
		const now = [...this.touches.values()], apart = t => Math.max(10, Math.abs(t[0].offsetX - t[1].offsetX));
		timeline.view.zoom(timeline.time((now[0].offsetX + now[1].offsetX) / 2), apart(before) / apart(now));
		this.start.moved = true;
	}

	up(e) {
		const { timeline, start } = this;
		if (!this.touches.has(e.pointerId)) return;
		if (start.range && start.moved) {
			const a = timeline.time(start.x), b = timeline.time(e.offsetX);
			timeline.view.go(Math.min(a, b), Math.max(a, b));
		} else if (!start.moved) this.click(e);
		this.end(e);
	}

	end(e) {
		this.touches.delete(e.pointerId);
		this.timeline.scroller.classList.remove("dragging");
	}

	click(e) {
		const { timeline, report } = this, hit = timeline.hit(e.offsetX, e.offsetY);
		if (hit && hit.kind === "lane") timeline.fold(hit.index);
		else if (hit) report.selection.choose(timeline, hit, { still: true });
		else report.selection.clear();
	}
}

function hideTip() {
	document.getElementById("tip").hidden = true;
}

// showTip shows the name and the duration of what is under the pointer.
function showTip(timeline, e) {
	const hit = timeline.hit(e.offsetX, e.offsetY), tip = document.getElementById("tip"), { run } = timeline;
	if (!hit) {
		hideTip();
		return;
	}
	tip.textContent = tipText(run, hit);
	tip.hidden = false;
	const w = tip.offsetWidth;
	tip.style.transform = `translate(${Math.min(e.clientX + 14, window.innerWidth - w - 8)}px, ${e.clientY + 18}px)`;
}

// outcome is how a failed span ended.
function outcome(spans, i) {
	if (!(spans.flags[i] & (flag.failed | flag.signal | flag.tolerated))) return "";
	const status = spans.status[i] - 1, forgiven = spans.flags[i] & flag.tolerated ? ", tolerated" : "";
	if (spans.flags[i] & flag.signal) return " · killed by signal " + status + forgiven;
	if (forgiven && status > 0) return " · status " + status + forgiven;
	return " · failed" + (spans.count[i] > 1 ? " in part" : status > 0 ? (spans.kind[i] === 2 ? " with error " : " with status ") + status : "") + forgiven;
}

function tipText(run, { kind, index: i }) {
	const s = run.strings;
	switch (kind) {
	case "span": return excerpt(s[run.spans.name[i]], 160) + " · " + duration(run.spans.dur[i]) + (run.spans.count[i] > 1 ? " · " + count(run.spans.count[i]) + " merged" : "") + outcome(run.spans, i);
	case "mark": return excerpt(s[run.marks.type[i]] + " " + s[run.marks.text[i]], 160);
	case "line": return excerpt(withoutColours(run.lines.text[i]), 160);
	default: return excerpt(s[run.lanes.name[i]], 160);
	}
}
