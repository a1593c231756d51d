package dump

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
)

// newForm returns the selected form, and its text, which has the time that relative times
// count from.
func newForm(e *cli.Env, opt *options) (output.Form, *output.Text, error) {
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
		Exits: !opt.sel.exits,
	})
	if err != nil {
		return nil, nil, cli.BadValue(name, opt.format, err)
	}
	return form, text, nil
}
