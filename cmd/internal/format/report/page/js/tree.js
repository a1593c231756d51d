// What is inside what: lanes by process tree, spans by lane and depth.

// Buckets hold the spans of one lane and one depth, in order of start. The spans of a bucket do not
// overlap, so binary search finds the one at a time.
class Buckets {
	constructor(run) {
		const { spans, lanes } = run, n = lanes.n;
		const depths = new Int32Array(n);
		for (let i = 0; i < spans.n; i++) if (spans.depth[i] >= depths[spans.lane[i]]) depths[spans.lane[i]] = spans.depth[i] + 1;
		this.first = new Int32Array(n + 1); // lane: its first bucket
		for (let l = 0; l < n; l++) this.first[l + 1] = this.first[l] + depths[l];
		this.n = this.first[n];
		this.offset = new Int32Array(this.n + 1);
		for (let i = 0; i < spans.n; i++) this.offset[this.of(spans, i) + 1]++;
		for (let b = 0; b < this.n; b++) this.offset[b + 1] += this.offset[b];
		const next = this.offset.slice();
		this.order = new Int32Array(spans.n);
		for (let i = 0; i < spans.n; i++) this.order[next[this.of(spans, i)]++] = i;
	}

	of(spans, i) {
		return this.first[spans.lane[i]] + spans.depth[i];
	}

	depths(lane) {
		return this.first[lane + 1] - this.first[lane];
	}
}

// lastBefore is the last position in order[from:to] that starts at or before the time, or from - 1.
function lastBefore(order, from, to, start, time) {
	let low = from, high = to;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (start[order[mid]] <= time) low = mid + 1; else high = mid;
	}
	return low - 1;
}

// spanAt is the span of a bucket that covers a time, or -1.
function spanAt(run, bucket, time) {
	const { order, offset } = run.buckets, { start, dur } = run.spans;
	const at = lastBefore(order, offset[bucket], offset[bucket + 1], start, time);
	return at >= offset[bucket] && start[order[at]] + dur[order[at]] >= time ? order[at] : -1;
}

// around is the span around a span, or -1.
function around(run, i) {
	const { spans, lanes, buckets } = run;
	let lane = spans.lane[i], depth = spans.depth[i];
	for (let hops = 0; hops < 1000; hops++) {
		while (--depth >= 0) {
			const s = spanAt(run, buckets.first[lane] + depth, spans.start[i]);
			if (s >= 0) return s;
		}
		lane = lanes.parent[lane] - 1;
		if (lane < 0) return -1;
		depth = buckets.depths(lane);
	}
	return -1;
}

// inside is the first span of its lane, or of a child of it, that begins in the span, or -1.
function inside(run, i) {
	const { spans, buckets, children } = run, lane = spans.lane[i], end = spans.start[i] + spans.dur[i];
	let best = -1;
	const consider = b => {
		let at = lastBefore(buckets.order, buckets.offset[b], buckets.offset[b + 1], spans.start, spans.start[i] - 0.5) + 1;
		if (at >= buckets.offset[b + 1]) return;
		const s = buckets.order[at];
		if (s !== i && spans.start[s] <= end && (best < 0 || spans.start[s] < spans.start[best])) best = s;
	};
	if (spans.depth[i] + 1 < buckets.depths(lane)) consider(buckets.first[lane] + spans.depth[i] + 1);
	if (best >= 0) return best;
	for (const c of children[lane]) if (buckets.depths(c)) consider(buckets.first[c]);
	return best;
}

// grow adds to a run what follows from its lanes: children in order of begin, roots, and how far each
// lane extends in time, with its descendants. A cycle of parents, which no writer makes, is cut.
function grow(run) {
	const { lanes, spans, marks } = run, n = lanes.n;
	run.buckets = new Buckets(run);
	run.from = new Float64Array(n).fill(Infinity);
	run.to = new Float64Array(n).fill(-Infinity);
	const reach = (l, from, to) => {
		if (from < run.from[l]) run.from[l] = from;
		if (to > run.to[l]) run.to[l] = to;
	};
	for (let i = 0; i < spans.n; i++) reach(spans.lane[i], spans.start[i], spans.start[i] + spans.dur[i]);
	run.marked = new Int32Array(n);
	for (let i = 0; i < marks.n; i++) {
		const l = marks.lane[i] - 1;
		if (l < 0) continue;
		run.marked[l]++;
		reach(l, marks.time[i], marks.time[i]);
	}
	run.children = Array.from({ length: n }, () => []);
	run.roots = [];
	const safe = unlooped(lanes);
	for (let l = 0; l < n; l++) (safe[l] >= 0 ? run.children[safe[l]] : run.roots).push(l);
	const byBegin = (a, b) => run.from[a] - run.from[b] || a - b;
	run.lanesInOrder = [];
	const stack = [...run.roots].reverse();
	while (stack.length) {
		const l = stack.pop();
		run.lanesInOrder.push(l);
		for (const c of run.children[l]) stack.push(c);
	}
	for (let i = n - 1; i >= 0; i--) { // children before parents
		const l = run.lanesInOrder[i];
		if (safe[l] >= 0 && run.from[l] < Infinity) reach(safe[l], run.from[l], run.to[l]);
		run.children[l].sort(byBegin);
	}
	run.roots.sort(byBegin);
}

function unlooped(lanes) {
	const parent = new Int32Array(lanes.n), seen = new Int32Array(lanes.n);
	for (let l = 0; l < lanes.n; l++) parent[l] = lanes.parent[l] - 1;
	for (let l = 0; l < lanes.n; l++) {
		for (let p = l; p >= 0 && seen[p] <= 0; p = parent[p]) {
			seen[p] = -(l + 1);
			if (parent[p] >= 0 && seen[parent[p]] === -(l + 1)) parent[p] = -1;
		}
		for (let p = l; p >= 0 && seen[p] < 0; p = parent[p]) seen[p] = 1;
	}
	return parent;
}
