// On paper: light, the timeline as it is on the screen, the first lines of the output.

function startPrint(report) {
	window.addEventListener("beforeprint", () => {
		theme.printing = true;
		colours.read();
		for (const t of report.timelines) { t.resize(); t.drawNow(); }
		if (report.output.box) {
			report.output.room = 500;
			report.output.render(true);
		}
	});
	window.addEventListener("afterprint", () => {
		theme.printing = false;
		colours.read();
		for (const t of report.timelines) t.resize();
		if (report.output.box) {
			report.output.room = 0;
			report.output.render(true);
		}
	});
}
