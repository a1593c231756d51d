package analysis

import (
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Entered is a system call that a signal interrupted, or in which the process or thread ended: what it
// waited for then, if it was in the call for long.
type Entered struct {
	PID, TID int
	From, To int64
	Name     string

	data []byte // of the event, the first maxEnteredData bytes
}

const (
	// maxEntered bounds how many of these calls a log keeps: the latest.
	maxEntered     = 256
	maxEnteredData = 512
	// maxCallText bounds the text of one.
	maxCallText = 160
)

// enteredCalls are the latest ones.
type enteredCalls struct {
	ring []Entered
	n    int // ever
}

// add adds a call. Those that end their thread never return.
func (l *enteredCalls) add(name string, rec *posixtrace.Record, duration int64) {
	if name == "exit" || name == "exit_group" {
		return
	}
	if len(l.ring) < maxEntered {
		l.ring = append(l.ring, Entered{})
	}
	e := &l.ring[l.n%maxEntered]
	l.n++
	from := rec.UnixNano - max(duration, 0)
	*e = Entered{PID: rec.PID, TID: rec.TID, From: min(from, rec.UnixNano), To: rec.UnixNano, Name: name,
		data: append(e.data[:0], rec.Data[:min(len(rec.Data), maxEnteredData)]...)}
}

const eintr = 4 // of Linux, on whichever system the log is read

// interrupted reports whether a call did not end by itself.
func interrupted(d *posixtrace.SyscallData) bool {
	return !d.Returned || d.Restarted != 0 || d.Errno == eintr
}

// Call returns the call as C writes it: read(0</x>, 0x7f10, 4096). It is untrusted text.
func (e *Entered) Call() string { return e.text(false) }

// Brief returns Call, without the data of a call that writes.
func (e *Entered) Brief() string { return e.text(strings.Contains(e.Name, "write")) }

func (e *Entered) text(brief bool) string {
	text := []byte(e.Name + "(")
	d, _ := posixtrace.DecodeSyscall(e.data)
	for i, a := range d.Args {
		if i > 0 {
			text = append(text, ", "...)
		}
		if brief && (a.String || i == 1) {
			text = append(text, "..."...)
			continue
		}
		if len(text)+len(a.Value) > maxCallText {
			text = append(text, "..."...)
			break
		}
		quote := ""
		if a.String {
			quote = `"`
		}
		text = append(append(append(text, quote...), a.Value...), quote...)
		if a.Cut {
			text = append(text, "..."...)
		}
	}
	return string(append(text, ')'))
}

// Entered returns the call that a process was in for longest of those that ended at a time or later, and
// began before a later time. It returns nil if the log has none.
func (a *Analysis) Entered(source, pid int, at, before int64) (found *Entered) {
	if source < 0 || source >= len(a.sources) {
		return nil
	}
	list := a.sources[source].entered.ring
	for i := range list {
		e := &list[i]
		if e.PID == pid && e.To >= at && e.From <= before && (found == nil || since(e.To, e.From) > since(found.To, found.From)) {
			found = e
		}
	}
	return found
}
