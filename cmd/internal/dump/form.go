package dump

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
)

// formOptions are the options that choose a form of output, each a form of its
// own; --golden may also be given with --json and --format.
var formOptions = []string{"json", "csv", "table", "chrome", "format", "golden", "annotate"}

// readForm finds the form that is asked for, "" for text.
func readForm(args *cli.Args) (form string, err error) {
	for _, f := range formOptions {
		switch {
		case !args.Has(f):
		case f == "golden" && (form == "json" || form == "format"):
			form = "golden " + form
		case form != "":
			return "", cli.Usagef("--%s and --%s exclude each other", strings.Fields(form)[0], f)
		default:
			form = f
		}
	}
	if args.Has("replay") && form == "" && !args.Has("time") {
		form = "annotate" // without times
	}
	return form, nil
}

// newForm makes the form that is asked for, and the text that knows the time
// from which it counts.
func newForm(e *cli.Env, opt *dumpOptions) (output.Form, *output.Text, error) {
	text := &output.Text{Style: opt.style}
	p := e.Colors.Out
	if p.On && (opt.form == "" || opt.form == "annotate") && opt.style != output.NoTime {
		text.TimeOn, text.TimeOff, _ = strings.Cut(p.Time.Sprint("\x00"), "\x00")
	}
	if p.On && opt.form == "" {
		text.SystemOn, text.SystemOff, _ = strings.Cut(p.System.Sprint("\x00"), "\x00")
	}
	name, golden := strings.CutPrefix(opt.form, "golden ")
	form, err := output.NewForm(name, &output.Settings{
		Text: text, Color: p.On, Width: e.Width, Format: opt.format, Golden: golden, Masks: opt.masks,
	})
	if err != nil {
		return nil, nil, cli.BadValue(name, opt.format, err)
	}
	return form, text, nil
}
