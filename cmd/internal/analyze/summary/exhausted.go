package summary

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// usedUp names what processes find used up.
var usedUp = [...]struct{ what, errno string }{
	analysis.Space:       {"disk full", "ENOSPC"},
	analysis.Quota:       {"disk quota used up", "EDQUOT"},
	analysis.Descriptors: {"descriptor limit reached", "EMFILE"},
	analysis.Files:       {"descriptor limit of the system reached", "ENFILE"},
}

// mostExhausted bounds the lines of what the processes of a run found used up.
const mostExhausted = 3

// exhausted returns what the processes of runs that failed found used up, as far as their logs show it.
func (s *show) exhausted(runs []*analysis.Run) (list []line) {
	for _, r := range runs[:min(len(runs), maxRuns)] {
		of := ""
		if len(runs) > 1 {
			of = shown(cut(r.Label(), widestNested)) + ": "
		}
		for _, l := range s.exhaustedBy(r) {
			l.before, l.failed, l.whole = of+l.before, true, true
			list = append(list, l)
		}
	}
	return list
}

func (s *show) exhaustedBy(r *analysis.Run) (list []line) {
	all := s.Exhausted(r)
	var called [len(usedUp)]bool
	for _, e := range all {
		called[e.Resource] = called[e.Resource] || e.Calls > 0
	}
	more := 0
	for _, e := range all {
		switch {
		case e.Calls == 0 && called[e.Resource]: // the calls say more
		case len(list) >= mostExhausted:
			more++
		default:
			list = append(list, exhaustedLine(e, r))
		}
	}
	if more > 0 {
		list = append(list, line{before: "the same of " + cli.Plural(uint64(more), "other process", "other processes")})
	}
	if full := r.Full(); !called[analysis.Space] {
		const noRoom = " had no room at the end"
		if full.Directory {
			list = append(list, line{before: usedUp[analysis.Space].what + ": the file system of the working directory" + noRoom})
		}
		if full.Temporary {
			list = append(list, line{before: usedUp[analysis.Space].what + ": the file system of the directory for temporary files" + noRoom})
		}
	}
	return list
}

// exhaustedLine returns what a process found used up.
func exhaustedLine(e *analysis.Exhausted, r *analysis.Run) line {
	name := usedUp[e.Resource]
	l := line{before: name.what + ": "}
	at := " at " + duration(max(e.At-r.Start, 0))
	switch e.Calls {
	case 0:
		l.before += "as many were open as the limit permits" + at
	case 1:
		l.subject, l.after = e.First.Brief(), " failed with "+name.errno+at
	default:
		l.subject, l.after = e.First.Brief(), " failed with "+name.errno+at+", the first of "+cli.Plural(e.Calls, "such call", "such calls")
	}
	if label := e.Command.Label(); label != "" {
		l.after += ": " + shown(cut(label, widestNested))
	}
	l.after += " (pid " + number(uint64(max(e.Command.PID, 0))) + ")"
	return l
}
