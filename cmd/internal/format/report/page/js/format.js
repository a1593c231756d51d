"use strict";
// Numbers and times as text.

// duration shows nanoseconds with three digits that mean something.
function duration(ns) {
	if (ns < 0) return "-" + duration(-ns);
	const units = [[1e3, 1, "ns"], [1e6, 1e3, "µs"], [1e9, 1e6, "ms"], [60e9, 1e9, "s"]];
	for (const [below, unit, name] of units) {
		const value = ns / unit;
		if (ns >= below || Number(value.toPrecision(3)) * unit >= below) continue;
		return trimmed(value) + name;
	}
	const seconds = Math.round(ns / 1e9), h = Math.floor(seconds / 3600), m = Math.floor(seconds / 60) % 60, s = seconds % 60;
	return h ? h + "h" + two(m) + "m" + two(s) + "s" : m + "m" + two(s) + "s";
}

function trimmed(value) {
	return value >= 100 ? String(Math.round(value)) : value.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function two(n) {
	return String(n).padStart(2, "0");
}

// bytes shows a size with a unit of 1024.
function bytes(n) {
	const units = "KMGTPE";
	let i = -1;
	for (; n >= 999.5 && i < units.length - 1; i++) n /= 1024;
	return trimmed(n) + (i < 0 ? " B" : " " + units[i] + "iB");
}

function count(n) {
	return n.toLocaleString("en-US");
}

function plural(n, one, many = one + "s") {
	return count(n) + " " + (n === 1 ? one : many);
}

function percent(part) {
	return part >= 0.0995 ? Math.round(part * 100) + " %" : part >= 0.001 ? (part * 100).toPrecision(2) + " %" : "0 %";
}

// seconds shows a time since the start with a number of decimals.
function seconds(ns, decimals = 3) {
	return (ns / 1e9).toFixed(decimals);
}

// clock shows the time of day of a moment: start is in nanoseconds since 1970, a BigInt.
function clock(start, ns) {
	const at = start + BigInt(Math.round(ns));
	const date = new Date(Number(at / 1000000n));
	return date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " " + two(date.getHours()) + ":" +
		two(date.getMinutes()) + ":" + two(date.getSeconds()) + "." + String(at % 1000000000n).padStart(9, "0");
}
