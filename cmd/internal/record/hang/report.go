//go:build linux

package hang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/culprit"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// report returns the threads of the tree.
func (w *world) report(tree []*process) *Report {
	r := &Report{}
	for _, p := range tree {
		for _, t := range p.threads {
			if t.gone && t.Depth > 0 { // such as the sleep of a loop: the one that waits for it says more
				continue
			}
			r.Threads = append(r.Threads, t.Thread)
		}
	}
	if w.cut {
		r.Notes = append(r.Notes, GivenUp(w.within))
		if t := r.culprit(); t != nil && t.Note != GivenUp(w.within) { // perhaps another thread says more
			t.Note = strings.TrimPrefix(t.Note+"; "+GivenUp(w.within), "; ")
		}
	}
	for what, n := range w.hidden {
		if n > 1 {
			what += " (" + strconv.Itoa(n) + " times)"
		}
		r.Notes = append(r.Notes, "not seen: "+what)
	}
	slices.Sort(r.Notes)
	return r
}

// culprit returns the thread that says best why the tree does not end, nil for none.
func (r *Report) culprit() *Thread {
	list := make([]culprit.Thread, len(r.Threads))
	for i := range r.Threads {
		t := &r.Threads[i]
		list[i] = culprit.Thread{PID: t.PID, TID: t.TID, HangData: t.Data()}
	}
	if i := culprit.Of(list); i >= 0 {
		return &r.Threads[i]
	}
	return nil
}

// Headline returns one line, without a newline, that says why the tree does not end; "" if there is no thread.
func (r *Report) Headline() string {
	t := r.culprit()
	if t == nil {
		return ""
	}
	return string(t.appendText(nil))
}

// appendText appends what the thread does.
func (t *Thread) appendText(b []byte) []byte {
	switch {
	case t.Cycle:
		b = append(b, "deadlock: "...)
	case t.Stuck && t.Kind != Zombie:
		b = append(b, "stuck: "...)
	}
	b = escape.AppendPrintable(b, commandLine(t.Args, t.Program))
	b = append(strconv.AppendInt(append(b, " (pid "...), int64(t.PID), 10), ')')
	if t.TID != t.PID {
		b = strconv.AppendInt(append(b, " thread "...), int64(t.TID), 10)
		if t.Program != "" {
			b = append(escape.AppendPrintable(append(b, " ("...), t.Program), ')')
		}
	}
	b = append(b, ' ')
	switch t.Kind {
	case Zombie:
		b = append(b, "has ended"...)
	case Stopped:
		b = append(b, "is stopped"...)
	case Busy:
		b = append(b, "is busy"...)
	default:
		b = append(b, t.Kind.String()...)
	}
	if t.Since >= 0 && (t.Kind == Waits || t.Kind == Sleeps) {
		if t.Exact {
			b = append(append(b, ' '), output.Duration(int64(t.Since))...)
		} else {
			b = append(strconv.AppendFloat(append(b, " about "...), t.Since.Seconds(), 'f', 1, 64), " s"...)
		}
	}
	if t.Call != "" {
		b = escape.AppendPrintable(append(b, " in "...), culprit.Call(t.Call))
	} else if t.Wait != "" && t.Kind == Waits {
		b = escape.AppendPrintable(append(b, " in the kernel's "...), t.Wait)
	}
	if t.For != "" {
		between := " for "
		switch t.Kind {
		case Sleeps:
			between = ", "
		case Zombie, Stopped:
			between = ", and waits for "
		}
		b = escape.AppendPrintable(append(b, between...), t.For)
	}
	if t.Note != "" {
		b = append(escape.AppendPrintable(append(b, " ("...), t.Note), ')')
	}
	return b
}

// AppendText appends the report for people: the headline, a line for each thread, and below it the frames of
// its stack, most lines at most.
func (r *Report) AppendText(b []byte, most int) []byte {
	if len(r.Threads) == 0 || most <= 0 {
		return b
	}
	b = append(append(b, r.Headline()...), '\n')
	notes := r.Notes[:min(len(r.Notes), (most-1)/2)]
	room, shown, lines := most-1-len(notes), len(r.Threads), len(r.Threads)
	switch {
	case shown == 1: // the first line has it
		lines = 0
	case shown > room:
		shown = max(room-1, 0)
		lines = room
	}
	frames := r.framesEach(shown, room-lines)
	for i := range shown {
		t := &r.Threads[i]
		if lines > 0 {
			b = append(b, strings.Repeat(" ", 2*min(t.Depth+1, 20))...)
			b = append(t.appendText(b), '\n')
		}
		b = t.appendStack(b, frames)
	}
	if left := len(r.Threads) - shown; left > 0 && room > 0 {
		b = append(strconv.AppendInt(append(b, "  and "...), int64(left), 10), " threads more\n"...)
	}
	for _, n := range notes {
		b = append(escape.AppendPrintable(b, n), '\n')
	}
	return b
}

// framesEach returns how many frames each of the first threads may show, for which there are so many lines in
// all: shorter stacks leave their part to longer ones.
func (r *Report) framesEach(threads, lines int) (most int) {
	for ; ; most++ {
		longer := 0
		for i := range r.Threads[:threads] {
			if len(r.Threads[i].Stack) > most {
				longer++
			}
		}
		if lines -= longer; longer == 0 || lines < 0 {
			return most
		}
	}
}

// appendStack appends a line for each frame of the stack, most at most.
func (t *Thread) appendStack(b []byte, most int) []byte {
	indent := strings.Repeat(" ", 2*min(t.Depth+2, 21))
	for i, f := range t.Stack {
		if i == most {
			break
		}
		if i == most-1 && i < len(t.Stack)-1 {
			f = "..."
		}
		b = append(append(b, indent...), "> "...)
		b = append(escape.AppendPrintable(b, f), '\n')
	}
	return b
}
