// The panel shows all members of the selection.

const panelText = 65536; // characters shown of a text

function showPanel(report, timeline, item) {
	const panel = document.getElementById("panel"), { run } = timeline, inside = panel.contains(document.activeElement);
	const { title, kind, members, text, texts } = describe(run, item);
	const list = element("dl");
	for (const [name, value, style] of members) list.append(element("dt", { text: name }), element("dd", { text: value, class: style || "" }));
	const close = button("Close", () => { report.selection.clear(); timeline.canvas.focus(); });
	panel.replaceChildren(
		element("header", {}, element("h2", { text: title, attributes: { id: "panel-name" } }), close),
		element("p", { class: "kind", text: kind }), list);
	if (text) {
		panel.append(element("pre", { text: excerpt(text, panelText), attributes: { tabindex: "0", role: "region", "aria-label": texts } }));
		const left = characters(text) - panelText;
		if (left > 0) panel.append(element("p", { class: "note", text: count(left) + " more characters" }));
	}
	panel.append(tools(report, timeline, item));
	panel.hidden = false;
	stepAside(panel, timeline, item);
	if (inside) close.focus();
}

// stepAside moves the panel to the other side if it would cover what it describes.
function stepAside(panel, timeline, { kind, index }) {
	const { run, layout } = timeline, box = timeline.canvas.getBoundingClientRect();
	const row = kind === "span" ? layout.rowOf[index] : kind === "mark" ? layout.markRow[index] : 0;
	const y = box.top + axisHeight + row * rowHeight - timeline.scroller.scrollTop, time = timeOf(run, { kind, index });
	const right = Math.min(box.width, timeline.x(time + (kind === "span" ? run.spans.dur[index] : 0)));
	panel.classList.remove("aside");
	const p = panel.getBoundingClientRect();
	panel.classList.toggle("aside", y + rowHeight > p.top && y < p.bottom && box.left + right > p.left && box.left + timeline.x(time) > p.width + 40);
}

function tools(report, timeline, { kind, index }) {
	const { run } = timeline, box = element("div", { class: "tools" }), { selection } = report;
	if (kind === "span") {
		box.append(button("Zoom to it", () => selection.zoom()));
		const line = run.strings[run.spans.paste[index]];
		if (line) box.append(copyButton(line));
		const outer = around(run, index);
		if (outer >= 0) box.append(button("Around it", () => selection.step("around"), { title: excerpt(run.strings[run.spans.name[outer]], 100) }));
		const lane = run.spans.lane[index];
		if (run.children[lane].length) box.append(button(timeline.folded.has(lane) ? "Unfold" : "Fold", () => { timeline.fold(lane); showPanel(report, timeline, { kind, index }); }));
	}
	if (run.lines.n && kind !== "line") {
		box.append(button("Output then", () => {
			const line = Math.min(run.lines.n - 1, lowerBound(run.lines.time, timeOf(run, { kind, index })));
			report.output.choose(run, line, true);
		}));
	}
	return box;
}

// copyButton copies a line that repeats a command in a shell. A page that a browser has opened from a file may
// have no clipboard of its own.
function copyButton(line) {
	const box = button("Copy command", async () => {
		try {
			await navigator.clipboard.writeText(line);
		} catch (e) {
			const field = element("textarea", { text: line });
			document.body.append(field);
			field.select();
			document.execCommand("copy");
			field.remove();
		}
		box.textContent = "Copied";
	}, { title: excerpt(line, 300) });
	return box;
}

function describe(run, { kind, index: i }) {
	const s = run.strings;
	if (kind === "span") return describeSpan(run, i);
	if (kind === "mark") {
		return {
			title: excerpt(s[run.marks.type[i]], 300), kind: "event",
			members: [...when(run, run.marks.time[i]), ...where(run, run.marks.lane[i] - 1), ...(run.marks.count[i] > 1 ? [["merged", plural(run.marks.count[i], "event")]] : [])],
			text: s[run.marks.text[i]], texts: "Data",
		};
	}
	const cost = lineCost(run, i), until = i + 1 < run.lines.n ? "until next line" : "until the end";
	return {
		title: excerpt(withoutColours(run.lines.text[i]), 120) || "(empty line)", kind: run.lines.stream[i] & lineFlag.error ? "line of standard error" : "line of standard output",
		members: [...when(run, run.lines.time[i]), [until, isNaN(cost) ? "not recorded" : duration(cost)], ...where(run, run.lines.lane[i] - 1), ["line", count(i + 1) + " of " + count(run.lines.n)]],
		text: withoutColours(run.lines.text[i]), texts: "Text",
	};
}

function describeSpan(run, i) {
	const { spans, strings: s } = run, flags = spans.flags[i];
	const members = [["duration", duration(spans.dur[i]) + " (" + percent(spans.dur[i] / run.length) + " of the run)"], ...when(run, spans.start[i])];
	members.push(["end", seconds(spans.start[i] + spans.dur[i], 9) + " s"]);
	const ended = flags & flag.failed ? "failure" : "", status = String(spans.status[i] - 1) + (flags & flag.tolerated ? " (tolerated)" : "");
	if (flags & flag.signal) members.push(["killed by signal", status, ended || (flags & flag.tolerated ? "" : "failure")]);
	else if (spans.status[i]) members.push(["status", status, ended]);
	else if (flags & flag.failed) members.push(["result", "failed", "failure"]);
	if (flags & flag.unfinished) members.push(["end", "not recorded", "failure"]);
	if (flags & flag.overlaps) members.push(["pair", "crosses another span; it may be wrong"]);
	if (spans.count[i] > 1) members.push(["merged", plural(spans.count[i], "interval")]);
	if (run.onChain[i]) {
		const part = run.chain.reduce((sum, [span, , dur]) => sum + (span === i ? dur : 0), 0);
		members.push(["chain", part ? "decided " + duration(part) + " of the wall time" : "yes"]);
	}
	members.push(...where(run, spans.lane[i]));
	const outer = around(run, i);
	if (outer >= 0) members.push(["inside", excerpt(s[spans.name[outer]], 200)]);
	return { title: excerpt(s[spans.name[i]], 300) || "(no name)", kind: kindNames[spans.kind[i]] || "interval", members, text: s[spans.text[i]], texts: spans.kind[i] === 0 ? "Command" : "Data" };
}

function when(run, time) {
	return [["begin", seconds(time, 9) + " s"], ["clock", clock(run.start, time)]];
}

function where(run, lane) {
	if (lane < 0) return [];
	const { lanes } = run, list = [];
	if (lanes.pid[lane]) list.push(["process", String(lanes.pid[lane])]);
	if (lanes.tid[lane] && lanes.tid[lane] !== lanes.pid[lane]) list.push(["thread", String(lanes.tid[lane])]);
	list.push(["lane", excerpt(run.strings[lanes.name[lane]], 200)]);
	return list;
}
