// Colours of a terminal: SGR sequences become styles. The program that wrote the page has left no other
// sequence in a line.

const plainStyle = Object.freeze({ fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false });
const sequence = /\x1b\[([0-9;:]{0,64})m/g;

// parseLine splits a line into segments of one style, from the style that the line before it left,
// and returns the style that this line leaves.
function parseLine(text, style) {
	const segments = [];
	let from = 0;
	if (text.includes("\x1b")) {
		sequence.lastIndex = 0;
		for (let m; (m = sequence.exec(text)); from = sequence.lastIndex) {
			if (m.index > from) segments.push({ text: text.slice(from, m.index), style });
			style = applySGR(style, m[1]);
		}
	}
	if (from < text.length) segments.push({ text: text.slice(from), style });
	return { segments, style };
}

function withoutColours(text) {
	return text.includes("\x1b") ? text.replace(sequence, "") : text;
}

function plainText(text) {
	return visible(withoutColours(text));
}

function applySGR(style, parameters) {
	const codes = parameters.split(/[;:]/).map(p => (p === "" ? 0 : Number(p)));
	const s = { ...style };
	for (let i = 0; i < codes.length; i++) {
		const c = codes[i];
		if (c === 38 || c === 48) {
			const [colour, used] = extendedColour(codes, i + 1, parameters.includes(":"));
			i += used;
			if (colour !== undefined) s[c === 38 ? "fg" : "bg"] = colour;
		} else if (c >= 30 && c <= 37) s.fg = c - 30;
		else if (c >= 40 && c <= 47) s.bg = c - 40;
		else if (c >= 90 && c <= 97) s.fg = c - 82;
		else if (c >= 100 && c <= 107) s.bg = c - 92;
		else simpleSGR(s, c);
	}
	return sameStyle(s, plainStyle) ? plainStyle : s;
}

function simpleSGR(s, c) {
	switch (c) {
	case 0: Object.assign(s, plainStyle); break;
	case 1: s.bold = true; break;
	case 2: s.dim = true; break;
	case 3: s.italic = true; break;
	case 4: case 21: s.underline = true; break;
	case 7: s.inverse = true; break;
	case 9: s.strike = true; break;
	case 22: s.bold = s.dim = false; break;
	case 23: s.italic = false; break;
	case 24: s.underline = false; break;
	case 27: s.inverse = false; break;
	case 29: s.strike = false; break;
	case 39: s.fg = null; break;
	case 49: s.bg = null; break;
	}
}

// extendedColour reads "5;N" or "2;R;G;B" (with colons: "2::R:G:B", too) and reports how many codes it used.
function extendedColour(codes, i, colons) {
	const byte = n => n >= 0 && n <= 255;
	if (codes[i] === 5) {
		const n = codes[i + 1];
		if (!byte(n)) return [undefined, 2];
		return [n < 16 ? n : cube(n), 2];
	}
	if (codes[i] === 2) {
		const skip = colons && codes.length - i >= 5 ? 1 : 0;
		const rgb = codes.slice(i + 1 + skip, i + 4 + skip);
		return [rgb.length === 3 && rgb.every(byte) ? rgb : undefined, 4 + skip];
	}
	return [undefined, 1];
}

function cube(n) {
	if (n >= 232) return Array(3).fill(8 + (n - 232) * 10);
	const level = v => (v ? 55 + v * 40 : 0);
	n -= 16;
	return [level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6)];
}

function sameStyle(a, b) {
	for (const key in plainStyle) if (a[key] !== b[key]) return false;
	return true;
}
