// Untrusted text: characters that are invisible, or that reorder or control text, are shown as escapes.

// Control characters except tab, soft hyphen, marks of direction, zero width, separators, and the
// halves of broken pairs.
const hidden = /[\0-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/;
const allHidden = new RegExp(hidden.source, "g");
const named = { "\n": "\\n", "\r": "\\r", "\x1b": "\\e", "\0": "\\0", "\b": "\\b", "\x07": "\\a" };

function escaped(c) {
	if (named[c]) return named[c];
	const n = c.codePointAt(0);
	return n < 256 ? "\\x" + n.toString(16).padStart(2, "0") : n < 65536 ? "\\u" + n.toString(16).padStart(4, "0") : "\\U" + n.toString(16).padStart(8, "0");
}

function visible(text) {
	return hidden.test(text) ? text.replace(allHidden, escaped) : text;
}

// excerpt is the visible beginning of a text of any length.
function excerpt(text, length) {
	return text.length > length ? visible(text.slice(0, length)) + "…" : visible(text);
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
