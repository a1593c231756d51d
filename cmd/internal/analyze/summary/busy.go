package summary

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// busy returns a line for each run that other processes of the machine have slowed down.
func busy(runs []*analysis.Run) (list []line) {
	for _, r := range runs[:min(len(runs), maxRuns)] {
		text := Busy(r)
		switch {
		case text == "":
		case len(runs) > 1:
			list = append(list, line{subject: r.Label(), after: ": " + text})
		default:
			list = append(list, line{before: text})
		}
	}
	return list
}

// Busy says that the machine was too busy for a run, "" if it was not.
func Busy(r *analysis.Run) string {
	b, ok := r.Busy()
	switch {
	case !ok:
		return ""
	case b.Waited > 0:
		return "the machine was busy: " + output.Percent(b.Waited) + " of the wall time waited for a processor"
	}
	return "the machine was busy: other processes used " + output.Percent(b.Others) + " of its processors"
}
