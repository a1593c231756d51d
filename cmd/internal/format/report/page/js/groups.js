// Many short commands: boxes too narrow for a name each, one after the other, are drawn as one box that
// says how many they are and of which programs. A row of the timeline is named in the same way.

const groupWidth = 26; // narrower boxes have no name, and are drawn in groups
const groupGap = 12; // at most so much between two boxes of a group
const groupLeast = 5; // fewer boxes are drawn as they are

// groupOf finds the group that begins at a place in the order of a row: up to which place it goes, from
// where to where, which part of it is covered, and spans of it, at most one per pixel. It returns null
// if there is none.
function groupOf(p, at, end) {
	const { order } = p.layout, { start, dur } = p.run.spans, first = at, left = p.x(start[order[at]]), seen = [];
	let right = left, covered = 0;
	while (at < end) {
		const i = order[at], from = p.x(start[i]), to = p.x(start[i] + dur[i]);
		if (from > right + groupGap || to - from >= groupWidth || from > p.width) break;
		seen.push(i);
		covered += to - Math.max(from, at > first ? Math.min(right, to) : from);
		right = Math.max(right, to);
		const next = to - from >= 1 ? at : lastBefore(order, at, end, start, p.time(Math.floor(from) + 1));
		if (next > at + 1) covered += Math.max(0, p.x(start[order[next]]) - to); // those between fill the pixel
		at = next > at ? next : at + 1;
	}
	if (at - first < groupLeast || right - left < groupWidth) return null;
	return { next: at, count: at - first, left, right, part: Math.min(1, covered / (right - left)), seen };
}

// Tally finds what many names have in common: programs by weight, and the words with which all names of
// a program begin.
class Tally {
	constructor() {
		this.programs = new Map();
		this.weight = 0;
	}

	add(name, weight) {
		const word = programOf(name);
		let p = this.programs.get(word);
		if (!p) this.programs.set(word, p = { word, weight: 0, common: name });
		p.weight += weight;
		this.weight += weight;
		while (p.common !== word && !beginsWith(name, p.common)) p.common = p.common.slice(0, Math.max(word.length, p.common.lastIndexOf(" ")));
	}

	// text names the programs with most weight: one with its common words if it has nearly all of it.
	text() {
		const list = [...this.programs.values()].sort((a, b) => b.weight - a.weight);
		if (!list.length) return "";
		if (list[0].weight >= this.weight * 0.8) return excerpt(list[0].common, 60);
		let sum = 0, n = 0;
		while (n < Math.min(3, list.length) && sum < this.weight * 0.9) sum += list[n++].weight;
		return list.slice(0, n).map(p => excerpt(p.word, 24)).join(", ") + (n < list.length ? " …" : "");
	}
}

function programOf(name) {
	const at = name.indexOf(" ");
	return at > 0 ? name.slice(0, at) : name;
}

// beginsWith reports whether a name begins with whole words.
function beginsWith(name, words) {
	return name.startsWith(words) && (name.length === words.length || name[words.length] === " ");
}
