package dump

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// newForm returns the selected form, and its text, which has the time that relative times
// count from.
func newForm(e *cli.Env, opt *options) (output.Form, *output.Text, error) {
	text := &output.Text{Style: opt.style}
	p := e.Colors.Out
	painted := p.On && slices.Contains([]string{"", "annotate", "strace"}, opt.form)
	if painted && opt.style != output.NoTime {
		text.TimeOn, text.TimeOff = cli.Around(p.Time)
	}
	if painted {
		text.Paints = &output.Paints{
			System: paint(cli.Around(p.System)), User: paint(cli.Around(p.User)),
			Stderr: paint(cli.Around(p.Stderr)), Failure: paint(cli.Around(p.Failure)),
		}
	}
	if opt.form == "" && (p.On || e.OnTerminal()) {
		text.Note = newNotes(e.OnTerminal()).of
	}
	if opt.form == "annotate" && painted {
		text.Note = newNotes(false).of
	}
	name, golden := strings.CutPrefix(opt.form, "golden ")
	form, err := output.NewForm(name, &output.Settings{
		Text: text, Color: p.On, Width: e.Width, Format: opt.format, Golden: golden, Masks: opt.masks,
		Exits: !opt.sel.exits, StringSize: opt.stringSize,
		Shape: func(call string) output.CallShape { return output.CallShape(tracer.ShapeOf(call)) }, Result: tracer.ResultText,
	})
	if err != nil {
		return nil, nil, cli.BadValue(name, opt.format, err)
	}
	return form, text, nil
}

func paint(on, off string) output.Paint { return output.Paint{On: on, Off: off} }
