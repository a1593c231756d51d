// The captured output. Only the lines in sight are in the document, so that millions open quickly.

const lineHeight = 20, lineLength = 4000, tallest = 12e6; // browsers limit the height of an element
const briefLines = 12; // of the output below a verdict: see output.css
const readLate = 1e8; // ns after the end of a command in which its output may be recorded

class Output {
	constructor(report) {
		Object.assign(this, { report, chosen: -1, query: "", hits: [], at: -1 });
		this.section = document.getElementById("output");
		this.runs = report.runs.filter(r => r.lines.n);
		if (!this.runs.length) return;
		this.section.hidden = false;
		this.heading();
		this.list = element("div", { class: "canvas" });
		this.box = element("div", { class: "lines", attributes: { tabindex: "0", role: "region", "aria-label": "Captured output" } }, this.list);
		this.note = element("p", { class: "note" });
		this.section.append(this.box, this.note);
		this.box.addEventListener("scroll", () => this.later());
		this.box.addEventListener("keydown", e => this.key(e));
		new ResizeObserver(() => this.later()).observe(this.box);
		theme.onChange(() => this.render(true));
		this.use(this.runs[this.runs.length - 1]);
		const verdict = document.getElementById("verdict"), failure = verdict.querySelector(".run.failed[data-run]");
		if (failure && report.runs.length === 1) this.follow(verdict, failure);
	}

	// follow puts the output right below the verdict of a run that failed, and shows the lines until the
	// failure. What of them the verdict has printed is not shown twice.
	follow(verdict, failure) {
		verdict.after(this.section);
		const link = document.querySelector("nav a[href='#output']");
		if (link) link.parentElement.prepend(link);
		this.section.classList.add("brief");
		const { spans, lines } = this.run, cause = failure.querySelector("li[data-span]"), i = cause ? Number(cause.dataset.span) : -1;
		const last = i >= 0 && i < spans.n ? Math.max(0, lastLine(lines, spans.start[i] + spans.dur[i] + readLate)) : lines.n - 1;
		this.box.scrollTop = (last + 1) * lineHeight / this.ratio - this.box.clientHeight;
		this.render(true);
		const seen = lines.text.slice(Math.max(0, last + 1 - briefLines), last + 1).map(text => plainText(text).trim());
		const printed = [...failure.querySelectorAll("li.printed")];
		if (printed.every(li => seen.some(text => text.startsWith(li.textContent.replace(/…$/, ""))))) for (const li of printed) li.hidden = true;
	}

	heading() {
		const head = element("div", { class: "heading" }, element("h2", { text: "Output", attributes: { id: "h-output" } }));
		if (this.runs.length > 1) {
			const group = element("div", { class: "tools", attributes: { role: "group", "aria-label": "Run" } });
			this.switches = this.runs.map(run => button(run.label || run.name, () => this.use(run)));
			group.append(...this.switches);
			head.append(group);
		}
		this.search = new OutputSearch(this);
		head.append(this.search.tools);
		this.section.append(head);
	}

	use(run) {
		this.run = run;
		this.styles = [plainStyle]; // the style at the begin of each line, as far as known
		this.chosen = -1;
		if (this.switches) this.switches.forEach((b, i) => b.setAttribute("aria-pressed", String(this.runs[i] === run)));
		const { n } = run.lines, left = run.omitted.lines || 0;
		this.ratio = Math.max(1, n * lineHeight / tallest);
		this.list.style.height = n * lineHeight / this.ratio + "px";
		this.box.style.height = Math.min(n + 0.5, 10000) * lineHeight + "px"; // and at most as the style sheet says
		this.note.textContent = plural(n, "line") + (left ? "; " + plural(left, "line") + (left === 1 ? " is" : " are") + " left out before line " + count(n ? run.lines.gap + 1 : 1) : "");
		this.box.scrollTop = 0;
		this.search.find();
		this.render(true);
	}

	later() {
		this.pending = this.pending || requestAnimationFrame(() => { this.pending = 0; this.render(false); });
	}

	// render puts the lines in sight, and some around them, into the document.
	render(anew) {
		if (!this.run) return;
		const room = this.room || Math.ceil(this.box.clientHeight / lineHeight);
		const top = this.box.scrollTop * this.ratio / lineHeight, { n } = this.run.lines;
		const from = Math.max(0, Math.min(Math.floor(top) - 10, n)), to = Math.min(n, Math.ceil(top) + room + 10);
		if (!anew && from === this.from && to === this.to) return;
		Object.assign(this, { from, to });
		const focus = this.list.contains(document.activeElement) ? Number(document.activeElement.parentElement.dataset.number) : -1;
		const shift = this.ratio > 1 ? this.box.scrollTop - top * lineHeight : 0;
		const rows = [];
		for (let i = from; i < to; i++) {
			const row = this.row(i);
			row.style.top = i * lineHeight + shift + "px";
			rows.push(row);
		}
		this.list.replaceChildren(...rows);
		if (focus >= from && focus < to) this.list.children[focus - from].querySelector("button").focus({ preventScroll: true });
	}

	row(i) {
		const { run } = this, { lines } = run, text = lines.text[i];
		const cost = lineCost(run, i);
		const when = element("button", { class: "when", text: seconds(lines.time[i]), attributes: { type: "button", title: "Show in the timeline", tabindex: "-1" }, click: () => this.link(i) });
		const long = cost >= Math.max(run.length * 0.02, 1e6);
		const price = element("span", { class: "cost" + (long ? " long" : ""), text: cost >= Math.max(run.length * 0.001, 1e6) ? duration(cost) : "", attributes: { title: i + 1 < lines.n ? "until the next line" : "until the end of the command" } });
		const body = element("span", { class: "text" });
		this.fill(body, text, i);
		const row = element("div", { class: "row" + (i === this.chosen ? " chosen" : "") + (i === lines.gap ? " gap" : "") }, when, price, lines.stream[i] & lineFlag.error ? element("span", { class: "error", attributes: { title: "standard error" } }, body) : body);
		row.dataset.number = i;
		return row;
	}

	fill(body, text, i) {
		const part = beginning(text, lineLength), { segments } = parseLine(part, this.styleAt(i));
		const matches = matchesIn(plainText(part), this.query);
		let offset = 0;
		for (const s of segments) offset = appendSegment(body, s, offset, matches);
		const left = part.length < text.length ? characters(withoutColours(text.slice(part.length))) : 0;
		if (!left) {
			if (this.run.lines.stream[i] & lineFlag.returned) body.append(element("span", { class: "returned", text: "\\r", attributes: { title: "ended by a carriage return" } }));
			return;
		}
		body.append(element("button", { class: "more", text: count(left) + " more characters", attributes: { type: "button" }, click: () => this.link(i) }));
	}

	// styleAt is the style that the lines before leave, of the same stream.
	styleAt(i) {
		const { lines } = this.run;
		for (let k = this.styles.length; k <= i; k++) {
			let before = this.styles[k - 1];
			const text = lines.text[k - 1];
			if (text.includes("\x1b")) before = parseLine(text, before).style;
			this.styles[k] = before;
		}
		return this.styles[i];
	}

	link(i) {
		const timeline = this.report.timelines[this.run.index];
		this.report.selection.choose(timeline, { kind: "line", index: i }, { fromOutput: true });
	}

	// choose marks a line and, if wanted, scrolls to it.
	choose(run, i, scroll) {
		if (!this.box) return;
		if (run !== this.run) this.use(run);
		this.chosen = i;
		if (scroll) {
			this.scrollTo(i);
			this.section.scrollIntoView({ block: "nearest" });
		}
		this.render(true);
	}

	scrollTo(i) {
		const y = i * lineHeight / this.ratio;
		if (y < this.box.scrollTop + lineHeight || y > this.box.scrollTop + this.box.clientHeight - lineHeight * 2) this.box.scrollTop = Math.max(0, y - this.box.clientHeight / 2);
	}

	key(e) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (e.key === "Enter" && this.chosen >= 0 && e.target === this.box) this.link(this.chosen);
		else if (step && this.chosen >= 0) {
			this.chosen = Math.max(0, Math.min(this.run.lines.n - 1, this.chosen + step));
			this.scrollTo(this.chosen);
			this.render(true);
		} else return;
		e.preventDefault();
	}
}

// lineCost is the time from a line to the next one, from the last one to the end of the command that
// wrote it. It is NaN where the log does not have that.
function lineCost({ lines }, i) {
	if (i + 1 < lines.n) return i + 1 === lines.gap ? NaN : lines.time[i + 1] - lines.time[i];
	return lines.end >= 0 ? Math.max(0, lines.end - lines.time[i]) : NaN;
}

// lastLine is the last line until a time, -1 if there is none.
function lastLine({ time, n }, until) {
	let low = 0, high = n;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (time[mid] <= until) low = mid + 1; else high = mid;
	}
	return low - 1;
}

// matchesIn lists where the query is in a text.
function matchesIn(text, query) {
	const lower = text.toLowerCase(), list = [];
	if (!query || lower.length !== text.length) return list; // a letter whose small form is longer
	for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, at + query.length)) list.push([at, at + query.length]);
	return list;
}

// appendSegment adds a piece of a line, which begins at an offset in the visible text: its style,
// escapes in red, matches of the search marked. It returns the offset of the next piece.
function appendSegment(parent, { text, style }, offset, matches) {
	const target = style === plainStyle ? parent : parent.appendChild(styled(style));
	for (const [k, part] of text.split(escapes).entries()) {
		if (!part) continue;
		appendMarked(k % 2 ? target.appendChild(element("span", { class: "escaped" })) : target, part, offset, matches);
		offset += part.length;
	}
	return offset;
}

// appendMarked adds visible text, and takes the matches before it off the list.
function appendMarked(parent, text, offset, matches) {
	let done = 0;
	while (matches.length && matches[0][1] <= offset) matches.shift();
	for (const match of matches) {
		const from = Math.max(match[0] - offset, 0), to = Math.min(match[1] - offset, text.length);
		if (from >= to) break;
		if (from > done) parent.append(text.slice(done, from));
		parent.append(element("mark", { text: text.slice(from, to) }));
		done = to;
	}
	if (done < text.length) parent.append(text.slice(done));
}

function styled(style) {
	const e = document.createElement("span");
	for (const name of ["bold", "dim", "italic", "underline", "strike"]) if (style[name]) e.classList.add("sgr-" + name);
	let { fg, bg } = style;
	if (style.inverse) [fg, bg] = [bg === null ? "page" : bg, fg === null ? "ink" : fg];
	if (bg !== null) {
		e.classList.add("sgr-filled");
		e.style.backgroundColor = colourOf(bg);
		e.style.color = fg === null || fg === "page" ? inkOn(bg) : colourOf(fg, bg);
	} else if (typeof fg === "number") e.classList.add("f" + fg);
	else if (fg !== null) e.style.color = readable(fg);
	return e;
}

function colourOf(c, on) {
	if (typeof c === "number") return `var(--a${c})`;
	if (c === "ink" || c === "page") return `var(--${c})`;
	return on === undefined || typeof on === "number" || typeof on === "string" || Math.abs(luminance(c) - luminance(on)) > 0.35 ? `rgb(${c.join(" ")})` : inkOn(on);
}

function inkOn(bg) {
	return Array.isArray(bg) ? (luminance(bg) > 0.5 ? "#000" : "#fff") : "var(--page)";
}

function luminance([r, g, b]) {
	return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

// readable moves a colour towards the ink until it stands out from the background.
function readable(rgb) {
	const ink = theme.dark ? 255 : 0, good = c => (theme.dark ? luminance(c) > 0.55 : luminance(c) < 0.42);
	for (let k = 0; k < 10 && !good(rgb); k++) rgb = rgb.map(v => Math.round(v + (ink - v) * 0.2));
	return `rgb(${rgb.join(" ")})`;
}
