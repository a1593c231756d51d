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

// exhausted returns what the processes of runs that failed found used up, as far as their logs show it: a line for each
// resource.
func (s *show) exhausted(runs []*analysis.Run) (list []line) {
	for _, r := range runs[:min(len(runs), maxRuns)] {
		for _, words := range s.exhaustedBy(r) {
			list = append(list, of(r, runs, words, true))
		}
	}
	return list
}

func (s *show) exhaustedBy(r *analysis.Run) (list [][]word) {
	var best [len(usedUp)]*analysis.Exhausted
	var processes [len(usedUp)]int
	for _, e := range s.Exhausted(r) {
		k := e.Resource
		processes[k]++
		if best[k] == nil || best[k].Calls == 0 && e.Calls > 0 { // a call says more than a sample
			best[k] = e
		}
	}
	for k, e := range best {
		if e != nil {
			list = append(list, exhaustedLine(e, r, processes[k]-1))
		}
	}
	if full := r.Full(); best[analysis.Space] == nil {
		const atEnd = ", at the end"
		if full.Directory {
			list = append(list, []word{said(usedUp[analysis.Space].what + ": the file system of the working directory" + atEnd)})
		}
		if full.Temporary {
			list = append(list, []word{said(usedUp[analysis.Space].what + ": the file system of the directory for temporary files" + atEnd)})
		}
	}
	return list
}

// widestCall bounds a system call.
const widestCall = 120

// exhaustedLine returns what a process found used up, and how many others did.
func exhaustedLine(e *analysis.Exhausted, r *analysis.Run, others int) (words []word) {
	name := usedUp[e.Resource]
	at := " at " + duration(max(e.At-r.Start, 0))
	if e.Calls == 0 {
		words = []word{said(name.what + ": as many were open as the limit permits" + at)}
	} else {
		if e.Calls > 1 {
			at += ", the first of " + cli.Plural(e.Calls, "such call", "such calls")
		}
		words = []word{said(name.what + ": "), {cut(e.Call(), widestCall), true}, said(" failed with " + name.errno + at)}
	}
	if label := e.Command.Label(); label != "" {
		words = append(words, said(": "), named(label))
	}
	text := " (pid " + number(uint64(max(e.Command.PID, 0))) + ")"
	if others > 0 {
		text += ", and " + cli.Plural(uint64(others), "other process", "other processes")
	}
	return append(words, said(text))
}
