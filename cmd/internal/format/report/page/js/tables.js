// Tables: sorted by a click on, or Enter in, the head of a column. Rows and links lead to the timeline.

function startTables(report) {
	for (const table of document.querySelectorAll("table.sortable")) sortable(table);
	for (const item of document.querySelectorAll("[data-span], [data-line]")) linked(report, item);
	for (const share of document.querySelectorAll("ol.chain [data-share]")) {
		const meter = element("span", { class: "meter", attributes: { "aria-hidden": "true" } });
		meter.style.width = Math.min(1, Math.max(0, Number(share.dataset.share) || 0)) * 100 + "%";
		share.closest("li").append(meter);
	}
	for (const list of document.querySelectorAll("ol.chain")) shorten(list);
	pair(document.getElementById("tables"));
}

// pair puts the tables of two runs beside each other.
function pair(tables) {
	const title = t => t.querySelector("h3").textContent, all = [...tables.querySelectorAll(".table")];
	for (const old of all) {
		if (!title(old).startsWith("old: ")) continue;
		const twin = all.find(t => title(t) === title(old).replace("old: ", "new: "));
		if (twin) old.after(twin);
	}
}

// shorten hides the parts of a chain that decided next to nothing, behind a button.
function shorten(list) {
	const small = [...list.children].filter(li => Number(li.querySelector("[data-share]").dataset.share) < 0.005);
	if (small.length < 3) return;
	const show = hide => {
		for (const li of small) li.hidden = hide;
		more.textContent = (hide ? "Show " : "Hide ") + small.length + " parts below 0.5 %";
		more.setAttribute("aria-expanded", String(!hide));
	};
	const more = button("", () => show(!small[0].hidden), { class: "more" });
	list.after(more);
	show(true);
}

function sortable(table) {
	const heads = [...table.tHead.rows[0].cells];
	heads.forEach((head, column) => {
		const control = element("button", { class: "sort", attributes: { type: "button" } });
		control.append(...head.childNodes);
		head.append(control);
		control.addEventListener("click", () => {
			const first = head.classList.contains("n") ? "descending" : "ascending", second = first === "ascending" ? "descending" : "ascending";
			const order = head.getAttribute("aria-sort") === first ? second : first;
			for (const h of heads) h.removeAttribute("aria-sort");
			head.setAttribute("aria-sort", order);
			sortRows(table, column, order === "ascending" ? 1 : -1);
		});
	});
}

function sortRows(table, column, sign) {
	const keyed = [...table.tBodies[0].rows].map(row => {
		const cell = row.cells[column];
		if (!cell) return { row, number: -Infinity, text: "" };
		const exact = cell.dataset.sort;
		return { row, number: exact === undefined ? parseFloat(cell.textContent) : Number(exact), text: cell.textContent };
	});
	const numeric = table.tHead.rows[0].cells[column].classList.contains("n");
	const value = n => (Number.isNaN(n) ? -Infinity : n);
	keyed.sort((a, b) => sign * (numeric ? value(a.number) - value(b.number) || 0 : a.text.localeCompare(b.text, undefined, { numeric: true })));
	table.tBodies[0].append(...keyed.map(k => k.row));
}

// linked turns the name in a row into a button that selects its span or line.
function linked(report, item) {
	const run = Number(item.dataset.run || 0), kind = item.dataset.span !== undefined ? "span" : "line";
	const index = Number(kind === "span" ? item.dataset.span : item.dataset.line);
	const name = item.tagName === "TR" ? item.querySelector("th") || item.cells[0] : item.querySelector("code") || item;
	if (!name || !(index >= 0)) return;
	const control = element("button", { class: "link", attributes: { type: "button", title: "Show in the timeline" }, click: () => report.selection.at(run, kind, index) });
	control.append(...name.childNodes);
	name.append(control);
}
