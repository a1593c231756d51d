// Keys of a timeline that has the focus. Letters mean nothing elsewhere on the page, so that they
// cannot collide with those of a screen reader or a browser.

class Keys {
	constructor(timeline, report) {
		timeline.canvas.addEventListener("keydown", e => {
			if (e.ctrlKey || e.metaKey || e.altKey) return;
			const action = this.action(e.key, timeline, report);
			if (!action) return;
			e.preventDefault();
			action();
		});
	}

	action(key, timeline, report) {
		const { view, scroller } = timeline, { selection, search } = report;
		const middle = () => (selection.now && selection.now.timeline === timeline && selection.now.kind === "span"
			? timeline.run.spans.start[selection.now.index] + timeline.run.spans.dur[selection.now.index] / 2 : (view.from + view.to) / 2);
		const inView = t => (t >= view.from && t <= view.to ? t : (view.from + view.to) / 2);
		const press = id => () => document.getElementById(id).click();
		return {
			ArrowLeft: () => view.pan(-0.1), ArrowRight: () => view.pan(0.1),
			ArrowUp: () => { scroller.scrollTop -= rowHeight * 2; }, ArrowDown: () => { scroller.scrollTop += rowHeight * 2; },
			PageUp: () => view.pan(-0.9), PageDown: () => view.pan(0.9),
			Home: () => view.set(0, view.span), End: () => view.set(view.length - view.span, view.length),
			"+": () => view.zoom(inView(middle()), 0.7), "=": () => view.zoom(inView(middle()), 0.7), "-": () => view.zoom(inView(middle()), 1 / 0.7), _: () => view.zoom(inView(middle()), 1 / 0.7),
			0: () => view.all(), ",": () => selection.step("previous"), ".": () => selection.step("next"),
			u: () => selection.step("around"), d: () => selection.step("inside"), Enter: () => (selection.now ? selection.zoom() : selection.first()),
			f: () => { if (selection.now && selection.now.kind === "span") timeline.fold(timeline.run.spans.lane[selection.now.index]); },
			F: press("fold-all"), c: press("show-chain"), l: press("pack"),
			"/": () => search.field.focus(), n: () => search.step(1), p: () => search.step(-1), Escape: () => selection.clear(),
		}[key];
	}
}
