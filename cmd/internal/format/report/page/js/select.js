// The selection: one span, mark or line of one run, shown in the timeline, the panel and the output.

class Selection {
	constructor(report) {
		this.report = report;
		this.now = null;
	}

	// choose selects an item. Options: still (do not move the view), focus (move the focus to the panel).
	choose(timeline, item, options = {}) {
		for (const t of this.report.timelines) if (t !== timeline) t.selected = t.cursor = null;
		this.now = { timeline, kind: item.kind, index: item.index };
		timeline.selected = item;
		const { run } = timeline, time = timeOf(run, item);
		timeline.cursor = item.kind === "span" ? null : time;
		if (!options.still) {
			timeline.reveal(item.kind, item.index);
			timeline.view.show(time, item.kind === "span" ? time + run.spans.dur[item.index] : time);
		}
		showPanel(this.report, timeline, item);
		if (item.kind === "line" && options.output !== false) this.report.output.choose(run, item.index, !options.fromOutput);
		for (const t of this.report.timelines) t.draw();
	}

	// at selects an item by the number of its run, and brings the timeline into sight.
	at(run, kind, index) {
		const timeline = this.report.timelines[run];
		if (!timeline || !(index < timeline.run[kind + "s"].n)) return;
		timeline.box.scrollIntoView({ block: "nearest" });
		this.choose(timeline, { kind, index });
	}

	clear() {
		this.now = null;
		for (const t of this.report.timelines) {
			t.selected = t.cursor = null;
			t.draw();
		}
		document.getElementById("panel").hidden = true;
	}

	zoom() {
		if (!this.now) return;
		const { timeline, kind, index } = this.now, { run } = timeline;
		timeline.reveal(kind, index);
		const time = timeOf(run, this.now), length = kind === "span" ? run.spans.dur[index] : timeline.view.span / 10;
		const margin = Math.max(length * 0.05, 10);
		if (kind === "span") timeline.view.go(time - margin, time + length + margin);
		else timeline.view.go(time - length / 2, time + length / 2);
	}

	// step selects the neighbour in the lane, what is around, or what is inside.
	step(to) {
		if (!this.now || this.now.kind !== "span") {
			this.first();
			return;
		}
		const { timeline, index } = this.now, { run, layout } = timeline;
		let next = -1;
		if (to === "around") next = around(run, index);
		else if (to === "inside") next = inside(run, index);
		else {
			const row = layout.rowOf[index];
			if (row < 0) return;
			const at = layout.order.indexOf(index, layout.first[row]) + (to === "next" ? 1 : -1);
			if (at >= layout.first[row] && at < layout.first[row + 1]) next = layout.order[at];
		}
		if (next >= 0) this.choose(timeline, { kind: "span", index: next });
	}

	first() {
		const timeline = this.report.timelines.find(t => t.canvas === document.activeElement) || this.report.timelines[0];
		const { start, dur } = timeline.run.spans;
		for (let i = 0; i < start.length; i++) {
			if (start[i] + dur[i] < timeline.view.from || timeline.layout.rowOf[i] < 0) continue;
			this.choose(timeline, { kind: "span", index: i });
			return;
		}
	}
}

function timeOf(run, { kind, index }) {
	return kind === "span" ? run.spans.start[index] : kind === "mark" ? run.marks.time[index] : run.lines.time[index];
}
