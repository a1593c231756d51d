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
		const tones = (light, chroma) => hues.flatMap(h => [shade(light, chroma, h), shade(light + 0.035, chroma, h)]);
		this.boxes = dark ? [tones(0.41, 0.07), tones(0.5, 0.1), tones(0.34, 0.03)] // processes, spans, system calls
			: [tones(0.85, 0.065), tones(0.77, 0.1), tones(0.9, 0.03)];
		// Opaque, because a canvas without a graphics processor is slow to blend.
		this.dim = [0, 1, 2].map(k => shade(dark ? [0.29, 0.31, 0.27][k] : [0.95, 0.93, 0.965][k], 0.008, 255));
		this.edges = hues.flatMap(h => Array(2).fill(shade(dark ? 0.56 : 0.74, 0.08, h)));
	},
};

// hueOf gives each string a hue by its first word, so that "cc1 a.c" and "cc1 b.c" look alike, and
// one of two tones by the rest, so that they do not look the same: hue * 2 + tone.
function hueOf(run, string) {
	run.hues = run.hues || new Uint8Array(run.strings.length);
	if (!run.hues[string]) {
		const name = run.strings[string].slice(0, 64), word = firstWord(name);
		run.hues[string] = 1 + hash(word) % hues.length * 2 + (hash(name) & 1);
	}
	return run.hues[string] - 1;
}

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ (h >>> 15)) >>> 0;
}
