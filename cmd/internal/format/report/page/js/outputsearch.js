// Search in the captured output.

class OutputSearch {
	constructor(output) {
		Object.assign(this, { output, hits: [], at: -1 });
		this.field = element("input", { attributes: { type: "search", id: "grep", placeholder: "Search the output", "aria-label": "Search the output", autocomplete: "off", spellcheck: "false" } });
		this.found = element("span", { class: "count", attributes: { role: "status" } });
		this.previous = button("↑", () => this.step(-1), { "aria-label": "Previous match in the output", disabled: "" });
		this.next = button("↓", () => this.step(1), { "aria-label": "Next match in the output", disabled: "" });
		this.tools = element("div", { class: "tools", attributes: { role: "group", "aria-label": "Search the output" } }, this.field, this.found, this.previous, this.next);
		this.field.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.find(true), 150); });
		this.field.addEventListener("keydown", e => {
			if (e.key !== "Enter") return;
			e.preventDefault();
			if (this.query !== this.field.value.toLowerCase()) this.find(false);
			this.step(e.shiftKey ? -1 : 1);
		});
	}

	find(render) {
		clearTimeout(this.timer);
		const { output } = this, { lines } = output.run;
		this.query = output.query = this.field.value.toLowerCase();
		this.hits = [];
		this.at = -1;
		if (this.query) for (let i = 0; i < lines.n; i++) if (plainText(lines.text[i]).toLowerCase().includes(this.query)) this.hits.push(i);
		this.show();
		if (render) output.render(true);
	}

	step(by) {
		const n = this.hits.length;
		if (!n) return;
		this.at = this.at < 0 ? (by > 0 ? 0 : n - 1) : (this.at + by + n) % n;
		this.output.choose(this.output.run, this.hits[this.at], true);
		this.show();
	}

	show() {
		const n = this.hits.length;
		this.found.textContent = !this.query ? "" : !n ? "no match" : this.at < 0 ? plural(n, "line") : count(this.at + 1) + " of " + count(n);
		this.previous.disabled = this.next.disabled = !n;
	}
}
