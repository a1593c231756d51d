//go:build linux

package hang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// report returns the threads of the tree.
func (w *world) report(tree []*process) *Report {
	r := &Report{}
	for _, p := range tree {
		for _, t := range p.threads {
			r.Threads = append(r.Threads, t.Thread)
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

// culprit returns the thread that says best why the tree does not end: one of a deadlock, or the end of the
// chain of waits that begins at the first root.
func (r *Report) culprit() *Thread {
	if len(r.Threads) == 0 {
		return nil
	}
	var cycle *Thread
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Cycle && (cycle == nil || cycle.waitsForEnd() && !t.waitsForEnd()) {
			cycle = t
		}
	}
	if cycle != nil {
		return cycle
	}
	t, seen := r.speaker(&r.Threads[0]), map[*Thread]bool{}
	for t.ForTID != 0 && !seen[t] {
		seen[t] = true
		i := slices.IndexFunc(r.Threads, func(o Thread) bool { return o.TID == t.ForTID })
		if i < 0 {
			break
		}
		next := r.speaker(&r.Threads[i])
		if seen[next] {
			break
		}
		if !t.waitsForEnd() && next.Kind != Busy && (next.Kind != Waits || next.ForTID == 0) {
			break
		}
		t = next
	}
	return t
}

// speaker returns the thread of the process of t that says more than t does, of which is known only that it
// waits for other threads: one that is busy, that waits for the end of a process, or for another process.
func (r *Report) speaker(t *Thread) *Thread {
	if t.Kind != Waits || t.ForTID != 0 && t.ForTID != t.TID {
		return t
	}
	best, most := t, 0
	for i := range r.Threads {
		o, says := &r.Threads[i], 0
		switch {
		case o.PID != t.PID:
		case o.Kind == Busy:
			says = 3
		case o.ForTID == 0 || o.ForPID == o.PID:
		case o.waitsForEnd():
			says = 2
		default:
			says = 1
		}
		if says > most {
			best, most = o, says
		}
	}
	return best
}

// waitsForEnd reports whether the thread waits for the end of a process: that process says more.
func (t *Thread) waitsForEnd() bool {
	name, _, _ := strings.Cut(t.Call, "(")
	switch name {
	case "wait4", "waitid", "vfork", "clone", "clone3":
		return true
	}
	return strings.HasPrefix(t.Wait, "do_wait")
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
		b = escape.AppendPrintable(append(b, " in "...), short(t.Call))
	} else if t.Wait != "" && t.Kind == Waits {
		b = escape.AppendPrintable(append(b, " in the kernel's "...), t.Wait)
	}
	if t.For != "" {
		between := " for "
		if t.Kind == Sleeps || t.Kind == Zombie {
			between = ", "
		}
		if t.Kind == Zombie {
			between = ", and waits for "
		}
		b = escape.AppendPrintable(append(b, between...), t.For)
	}
	if t.Note != "" {
		b = append(escape.AppendPrintable(append(b, " ("...), t.Note), ')')
	}
	return b
}

// short returns a system call with its first argument, and with further ones while there is room.
func short(call string) string {
	const room = 60
	end, depth := 0, 0
	for i := 0; i < len(call); i++ {
		switch call[i] {
		case '"':
			for i++; i < len(call) && call[i] != '"'; i++ {
				if call[i] == '\\' {
					i++
				}
			}
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			depth--
		case ',':
			if depth == 1 {
				if end > 0 && i > room {
					return call[:end] + ", ...)"
				}
				end = i
			}
		}
	}
	if len(call) > room && end > 0 {
		return call[:end] + ", ...)"
	}
	return call
}

// AppendText appends the report for people: the headline, and a line for each thread, most lines at most.
func (r *Report) AppendText(b []byte, most int) []byte {
	if len(r.Threads) == 0 || most <= 0 {
		return b
	}
	b = append(append(b, r.Headline()...), '\n')
	notes := r.Notes[:min(len(r.Notes), (most-1)/2)]
	room, shown := most-1-len(notes), len(r.Threads)
	switch {
	case shown == 1: // the first line has it
		shown, room = 0, 0
	case shown > room:
		shown = max(room-1, 0)
	}
	for i := range shown {
		t := &r.Threads[i]
		b = append(b, strings.Repeat(" ", 2*min(t.Depth+1, 20))...)
		b = append(t.appendText(b), '\n')
	}
	if left := len(r.Threads) - shown; left > 0 && room > 0 {
		b = append(strconv.AppendInt(append(b, "  and "...), int64(left), 10), " threads more\n"...)
	}
	for _, n := range notes {
		b = append(escape.AppendPrintable(b, n), '\n')
	}
	return b
}
