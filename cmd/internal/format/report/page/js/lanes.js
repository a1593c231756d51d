// Which row a lane is in. Packed, a lane with its descendants is a rectangle of time and rows, and
// rectangles that do not overlap in time share rows, so that a build has about as many rows as it
// ran processes at once. Otherwise each lane has rows of its own, in the order of the tree.

const rowHeight = 21;

class Layout {
	constructor(run, packed, folded) {
		const n = run.lanes.n;
		this.run = run;
		this.top = run.lines.n ? 1 : 0; // the row of captured lines
		this.own = new Int32Array(n); // rows of the lane itself; 0: hidden by a folded ancestor
		this.row = new Int32Array(n).fill(-1);
		const hidden = this.hide(folded), roots = run.roots.filter(l => !hidden[l]);
		const tall = new Int32Array(n), offset = new Int32Array(n);
		const place = packed ? packLanes : stackLanes;
		for (let i = n - 1; i >= 0; i--) {
			const l = run.lanesInOrder[i];
			if (hidden[l]) continue;
			const depths = run.buckets.depths(l);
			this.own[l] = folded.has(l) ? 1 : Math.max(1, depths);
			tall[l] = this.own[l] + place(run, run.children[l].filter(c => !hidden[c]), tall, offset);
		}
		this.rows = this.top + place(run, roots, tall, offset);
		for (const l of roots) this.row[l] = this.top + offset[l];
		for (const l of run.lanesInOrder) if (!hidden[l]) for (const c of run.children[l]) if (!hidden[c]) this.row[c] = this.row[l] + this.own[l] + offset[c];
		this.height = this.rows * rowHeight;
		this.fillSpans(hidden);
		this.fillMarks();
		this.nameRows();
	}

	// hide lists lanes in which nothing happens, and descendants of folded lanes.
	hide(folded) {
		const hidden = Uint8Array.from(this.run.from, from => from === Infinity);
		for (const l of this.run.lanesInOrder) for (const c of this.run.children[l]) if (hidden[l] || folded.has(l)) hidden[c] = 1;
		return hidden;
	}

	// fillSpans lists the spans of each row in order of start: order[first[row]:first[row + 1]].
	fillSpans(hidden) {
		const { run } = this, { buckets } = run;
		const lists = Array.from({ length: this.rows }, () => []);
		for (const l of run.lanesInOrder) {
			if (hidden[l]) continue;
			const depths = Math.min(this.own[l], buckets.depths(l));
			for (let d = 0; d < depths; d++) lists[this.row[l] + d].push({ bucket: buckets.first[l] + d, from: run.from[l], lane: l });
		}
		this.first = new Int32Array(this.rows + 1);
		this.order = new Int32Array(run.spans.n);
		this.rowOf = new Int32Array(run.spans.n).fill(-1);
		let at = 0;
		lists.forEach((list, row) => {
			this.first[row] = at;
			list.sort((a, b) => a.from - b.from);
			for (const { bucket } of list) {
				for (let i = buckets.offset[bucket]; i < buckets.offset[bucket + 1]; i++) {
					this.order[at++] = buckets.order[i];
					this.rowOf[buckets.order[i]] = row;
				}
			}
		});
		this.first[this.rows] = at;
		this.shown = at;
	}

	fillMarks() {
		const { marks } = this.run;
		this.markRow = new Int32Array(marks.n).fill(-1);
		this.firstMark = new Int32Array(this.rows + 2);
		for (let i = 0; i < marks.n; i++) {
			const row = marks.lane[i] ? this.row[marks.lane[i] - 1] : this.top;
			if (row < 0 || row >= this.rows) continue;
			this.markRow[i] = row;
			this.firstMark[row + 1]++;
		}
		for (let r = 0; r < this.rows; r++) this.firstMark[r + 1] += this.firstMark[r];
		const next = this.firstMark.slice();
		this.markOrder = new Int32Array(marks.n);
		for (let i = 0; i < marks.n; i++) if (this.markRow[i] >= 0) this.markOrder[next[this.markRow[i]]++] = i;
	}

	// nameRows names a row after its lane, or after the programs of its lanes that took longest.
	nameRows() {
		const { run } = this;
		this.lane = new Int32Array(this.rows).fill(-1); // the only lane that begins in the row
		this.lanesIn = new Int32Array(this.rows);
		const tallies = Array.from({ length: this.rows }, () => null);
		for (const l of run.lanesInOrder) {
			const row = this.row[l];
			if (row < 0) continue;
			this.lane[row] = this.lanesIn[row]++ ? -1 : l;
			tallies[row] = tallies[row] || new Tally();
			tallies[row].add(run.strings[run.lanes.name[l]], run.to[l] - run.from[l] + 1);
		}
		this.labels = tallies.map((tally, row) => (row < this.top ? "output" : tally ? tally.text() : ""));
	}
}

function firstWord(name) {
	const at = name.search(/[\s.:]/);
	return at > 0 ? name.slice(0, at) : name;
}

function stackLanes(run, lanes, tall, offset) {
	let rows = 0;
	for (const l of lanes) {
		offset[l] = rows;
		rows += tall[l];
	}
	return rows;
}

// packLanes gives each lane, in order of begin, the uppermost rows that are free by then.
function packLanes(run, lanes, tall, offset) {
	if (lanes.length === 1) return stackLanes(run, lanes, tall, offset);
	const free = []; // when the last lane in the row ends
	for (const l of lanes) {
		let row = 0;
		for (let k = 0; k < tall[l]; k++) {
			if (row + k < free.length && free[row + k] > run.from[l]) {
				row += k + 1;
				k = -1;
			}
		}
		offset[l] = row;
		for (let k = 0; k < tall[l]; k++) free[row + k] = Math.max(run.to[l], run.from[l] + 1);
	}
	return free.length;
}
