// The scale of time.

const axisHeight = 24;

// tickStep is the smallest of 1, 2, 5 times a power of ten nanoseconds (and of 1, 2, 5, 10, 15, 30
// minutes and hours) that is not below the least step.
function tickStep(least) {
	if (least > 30e9) {
		for (const s of [60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]) if (s * 1e9 >= least) return s * 1e9;
		return Math.ceil(least / 86400e9) * 86400e9;
	}
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	for (const m of [1, 2, 5]) if (m * power >= least) return m * power === 50e9 ? 30e9 : m * power;
	return 10 * power;
}

function tickLabel(time, step) {
	if (time === 0) return "0";
	if (step >= 60e9 || time >= 600e9) {
		const s = Math.floor(time / 1e9), rest = time / 1e9 - s;
		const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
		const head = s >= 3600 ? Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) : String(Math.floor(s / 60));
		return head + ":" + two(s % 60) + (decimals && step < 1e9 ? rest.toFixed(decimals).slice(1) : "") + (s >= 3600 ? " h" : " min");
	}
	const [unit, name] = time < 1e3 ? [1, "ns"] : time < 1e6 ? [1e3, "µs"] : time < 1e9 ? [1e6, "ms"] : [1e9, "s"];
	const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / unit) + 1e-9)));
	return (time / unit).toFixed(decimals) + " " + name;
}

function ticks(from, to, width) {
	const step = tickStep((to - from) * 95 / Math.max(width, 1));
	const list = [];
	for (let k = Math.ceil(from / step); k * step <= to; k++) list.push(k * step);
	return { step, list };
}
