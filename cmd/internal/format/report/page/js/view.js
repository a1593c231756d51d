// The range of time that all timelines show.

class View {
	constructor(length) {
		this.length = length;
		this.from = 0;
		this.to = length;
		this.listeners = [];
		this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
	}

	get span() {
		return this.to - this.from;
	}

	onChange(f) {
		this.listeners.push(f);
	}

	// set shows a range, moved or cut so that it lies in the run. At least 20 ns are shown.
	set(from, to) {
		const span = Math.min(Math.max(to - from, 20), this.length);
		if (to - from < 20) from = (from + to - span) / 2;
		from = Math.min(Math.max(from, 0), this.length - span);
		if (from === this.from && from + span === this.to) return;
		this.from = from;
		this.to = from + span;
		for (const f of this.listeners) f();
	}

	zoom(at, factor) {
		this.stop();
		const from = at - (at - this.from) * factor;
		this.set(from, from + this.span * factor);
	}

	pan(part) {
		this.stop();
		this.set(this.from + this.span * part, this.to + this.span * part);
	}

	all() {
		this.go(0, this.length);
	}

	// show moves the range so that the interval is visible, with as much around it as before. A long
	// interval makes the range longer, one of less than a few pixels makes it shorter.
	show(from, to) {
		const length = to - from, small = length > 0 && length < this.span / 400;
		if (from >= this.from && to <= this.to && !small) return;
		const span = small ? length * 60 : Math.max(this.span, length * 1.4), middle = (from + to) / 2;
		this.go(middle - span / 2, middle + span / 2);
	}

	// go moves to a range in a sixth of a second, or at once where motion is unwanted.
	go(from, to) {
		this.stop();
		if (this.calm.matches) {
			this.set(from, to);
			return;
		}
		const a = this.from, b = this.to, begin = performance.now();
		const step = now => {
			const part = Math.min(1, Math.max(0, now - begin) / 160), eased = 1 - (1 - part) ** 3;
			this.moving = part < 1 ? requestAnimationFrame(step) : 0;
			this.set(a + (from - a) * eased, b + (to - b) * eased);
		};
		this.moving = requestAnimationFrame(step);
	}

	stop() {
		if (this.moving) cancelAnimationFrame(this.moving);
		this.moving = 0;
	}
}
