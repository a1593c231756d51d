// Texts of a report. The program that wrote the page has escaped what is invisible, and what reorders or
// controls text. In a line of output, two characters that no line has are around each escape.

const escapes = /\ufdd0([^\ufdd0\ufdd1]*)\ufdd1?/g;

// visible is a line without the marks of its escapes.
function visible(text) {
	return text.includes("\ufdd0") ? text.replace(/[\ufdd0\ufdd1]/g, "") : text;
}

// excerpt is the beginning of a text of any length.
function excerpt(text, length) {
	return text.length > length ? text.slice(0, length).replace(/[\ud800-\udbff]$/, "") + "…" : text;
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
