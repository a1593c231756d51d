//go:build linux

package hang

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// alsoFor notes what else than e.text and e.on says ends the wait, and what the kernel waits for.
func (t *thread) alsoFor(e end) {
	if t.For != "" {
		t.For += e.or
	}
	if e.child != nil {
		t.ForPID, t.ForTID = e.child.PID, e.child.TID
	}
	if t.State == 'D' && strings.HasPrefix(t.For, "the kernel, in ") {
		if m, ok := t.mounted(); ok {
			t.For += ", for " + m.String()
		}
	}
}

// limit returns the time limit at an address, negative if there is none.
func (t *thread) limit(at uint64, unit time.Duration) time.Duration {
	if at == 0 {
		return -1
	}
	return max(t.interval(at, unit), 0)
}

// within is an end of a wait for any of several descriptors that has a time limit unless that is negative.
func (t *thread) within(e end, limit time.Duration) end {
	other := func(o *thread) bool { return o.PID != t.PID }
	if e.text == "" || !e.known && len(e.on) > 0 && !slices.ContainsFunc(e.on, other) {
		e = t.orChild(e)
	}
	if limit > 0 { // 0: it cannot be read
		e.or += ", for at most " + output.Duration(int64(limit))
	}
	return t.limited(e, limit >= 0)
}

// orChild is a wait that the end of a child ends, too, as the process handles the signal: an event loop, such as
// that of node(1), waits for its children so.
func (t *thread) orChild(e end) end {
	if t.TID != t.PID || !procfs.Handles(t.PID, unix.SIGCHLD) {
		return e
	}
	var first *thread
	others := 0
	for _, c := range t.p.children {
		switch list := t.w.load(c); {
		case c.state == 'Z' || len(list) == 0:
		case first == nil:
			first = list[0]
		default:
			others++
		}
	}
	if first == nil {
		return e
	}
	e.unseen, e.child = true, first
	if e.text == "" {
		e.text, e.known = "a signal", true
	}
	e.or = "; or for the end of " + first.label()
	if others > 0 {
		e.or += " or " + strconv.Itoa(others) + " more"
	}
	return e
}
