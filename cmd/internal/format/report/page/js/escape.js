// Texts of a report. The program that wrote the page has escaped what is invisible, and what reorders or
// controls text. In a line of output, two characters that no line has are around each escape.

const escapes = /\ufdd0([^\ufdd1]*)\ufdd1/;
const allEscapes = new RegExp(escapes.source, "g");

// visible is a line without the marks of its escapes.
function visible(text) {
	return text.includes("\ufdd0") ? text.replace(/[\ufdd0\ufdd1]/g, "") : text;
}

// characters counts those of a line. An escape counts as the character that it stands for.
function characters(text) {
	return text.includes("\ufdd0") ? text.replace(allEscapes, "x").length : text.length;
}

// beginning is the part of a text that has at most so many characters. It does not end within an
// escape, a colour or a pair of surrogates.
function beginning(text, length) {
	if (text.length <= length) return text;
	let end = 0, left = length;
	for (let at; left > 0 && (at = text.indexOf("\ufdd0", end)) >= 0 && at < end + left; end = text.indexOf("\ufdd1", at) + 1) left -= at - end + 1;
	end += left;
	return end < text.length ? text.slice(0, end).replace(/(\x1b[^m]*|[\ud800-\udbff])$/, "") : text;
}

// excerpt is the beginning of a text of any length, without the marks of escapes.
function excerpt(text, length) {
	const part = beginning(text, length);
	return visible(part) + (part.length < text.length ? "…" : "");
}

// element makes an element with a text, a class and children. Nothing in it is parsed as HTML.
function element(name, options = {}, ...children) {
	const e = document.createElement(name);
	if (options.class) e.className = options.class;
	if (options.text !== undefined) e.textContent = options.text;
	for (const [key, value] of Object.entries(options.attributes || {})) e.setAttribute(key, value);
	if (options.click) e.addEventListener("click", options.click);
	e.append(...children);
	return e;
}

function button(text, click, attributes) {
	return element("button", { text, click, attributes: { type: "button", ...attributes } });
}
