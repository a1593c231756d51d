// Search in names, arguments, types and data of spans and marks. Strings are compared once each.

class Search {
	constructor(report) {
		Object.assign(this, { report, hits: [], at: -1 });
		this.field = document.getElementById("find");
		this.found = document.getElementById("found");
		this.buttons = [document.getElementById("find-previous"), document.getElementById("find-next")];
		this.buttons.forEach((b, i) => b.addEventListener("click", () => this.step(i ? 1 : -1)));
		this.field.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.find(), 120); });
		this.field.addEventListener("keydown", e => {
			if (e.key === "Enter") {
				e.preventDefault();
				if (this.text !== this.field.value) this.find();
				this.step(e.shiftKey ? -1 : 1);
			} else if (e.key === "Escape") {
				this.field.value = "";
				this.find();
			}
		});
	}

	find() {
		clearTimeout(this.timer);
		this.text = this.field.value;
		this.hits = [];
		this.at = -1;
		for (const timeline of this.report.timelines) {
			const m = this.text ? matchRun(timeline.run, this.text) : null;
			timeline.matches = m && m.spans;
			timeline.markMatches = m && m.marks;
			if (m) this.collect(timeline, m);
			timeline.draw();
		}
		this.show();
	}

	// collect lists the matches of a run in order of time.
	collect(timeline, m) {
		const { start } = timeline.run.spans, { time } = timeline.run.marks;
		let k = 0;
		for (let i = 0; i < time.length; i++) {
			if (!m.marks[i]) continue;
			while (k < m.spans.length && start[m.spans[k]] <= time[i]) this.hits.push({ timeline, kind: "span", index: m.spans[k++] });
			this.hits.push({ timeline, kind: "mark", index: i });
		}
		while (k < m.spans.length) this.hits.push({ timeline, kind: "span", index: m.spans[k++] });
	}

	step(by) {
		const n = this.hits.length;
		if (!n) return;
		this.at = this.at < 0 ? (by > 0 ? 0 : n - 1) : (this.at + by + n) % n;
		const hit = this.hits[this.at];
		this.report.selection.choose(hit.timeline, hit);
		this.show();
	}

	show() {
		const n = this.hits.length;
		this.found.textContent = !this.text ? "" : !n ? "no match" : this.at < 0 ? plural(n, "match", "matches") : count(this.at + 1) + " of " + count(n);
		for (const b of this.buttons) b.disabled = !n;
	}
}

function matchRun(run, text) {
	const wanted = text.toLowerCase(), match = new Uint8Array(run.strings.length);
	const { spans, marks } = run, known = new Uint8Array(run.strings.length);
	const has = s => {
		if (!known[s]) {
			known[s] = 1;
			match[s] = run.strings[s].toLowerCase().includes(wanted) ? 1 : 0;
		}
		return match[s];
	};
	const list = [];
	for (let i = 0; i < spans.n; i++) if (has(spans.name[i]) || has(spans.text[i])) list.push(i);
	const found = new Uint8Array(marks.n);
	for (let i = 0; i < marks.n; i++) found[i] = has(marks.type[i]) || has(marks.text[i]);
	return { spans: Int32Array.from(list), marks: found };
}
