// Light and dark: as the system has it, until the switch says otherwise.

const theme = {
	listeners: [],
	printing: false,
	system: window.matchMedia("(prefers-color-scheme: dark)"),

	get dark() {
		const chosen = document.documentElement.dataset.theme;
		return !this.printing && (chosen ? chosen === "dark" : this.system.matches);
	},

	onChange(f) {
		this.listeners.push(f);
	},

	changed() {
		colours.read();
		for (const f of this.listeners) f();
	},

	start(control) {
		const name = () => { control.textContent = this.dark ? "Light" : "Dark"; control.title = "Switch to " + control.textContent.toLowerCase() + " colours"; };
		control.addEventListener("click", () => {
			document.documentElement.dataset.theme = this.dark ? "light" : "dark";
			this.changed();
		});
		this.system.addEventListener("change", () => this.changed());
		this.onChange(name);
		colours.read();
		name();
	},
};
