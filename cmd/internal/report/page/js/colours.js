// Colours of the canvas: those of the style sheet, and one hue per program or family of spans.

const hues = [255, 200, 165, 135, 105, 80, 300, 230]; // no red: red is a failure

const colours = {
	css: {},

	// read asks the style sheet for what the names mean in the present scheme.
	read() {
		const probe = document.createElement("span");
		probe.hidden = true;
		document.body.append(probe);
		for (const name of ["card", "sunk", "ink", "soft", "faint", "line", "grid", "accent", "accent-soft", "bad", "bad-box", "fail", "fail-ink", "warn", "chain", "hit", "box-ink", "missing"]) {
			if (theme.printing) probe.style.colorScheme = "light";
			probe.style.color = "var(--" + name + ")";
			this.css[name] = getComputedStyle(probe).color;
		}
		probe.remove();
		const dark = theme.dark;
		const shade = (light, chroma, hue) => `oklch(${light} ${chroma} ${hue})`;
		this.boxes = [
			hues.map(h => shade(dark ? 0.42 : 0.86, dark ? 0.07 : 0.065, h)), // processes
			hues.map(h => shade(dark ? 0.52 : 0.78, dark ? 0.1 : 0.1, h)), // spans
			hues.map(h => shade(dark ? 0.36 : 0.91, dark ? 0.03 : 0.03, h)), // system calls
		];
		// Opaque, because a canvas without a graphics processor is slow to blend.
		this.dim = [0, 1, 2].map(k => shade(dark ? [0.29, 0.31, 0.27][k] : [0.95, 0.93, 0.965][k], 0.008, 255));
		this.edges = hues.map(h => shade(dark ? 0.56 : 0.74, dark ? 0.08 : 0.08, h));
	},
};

// hueOf gives each string a hue by its first word, so that "cc1 a.c" and "cc1 b.c" look the same.
function hueOf(run, string) {
	run.hues = run.hues || new Uint8Array(run.strings.length);
	if (!run.hues[string]) {
		let h = 2166136261;
		for (const c of firstWord(run.strings[string]).slice(0, 64)) h = Math.imul(h ^ c.codePointAt(0), 16777619);
		run.hues[string] = 1 + ((h ^ (h >>> 15)) >>> 0) % hues.length;
	}
	return run.hues[string] - 1;
}
