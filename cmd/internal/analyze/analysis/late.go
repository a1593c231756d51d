package analysis

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// forkDelay is how long after an event of a process its fork may be recorded. A tracer may see a
// new process before the fork event, which the parent reports: the parent may be stopped. The
// process id is not used again so soon.
const forkDelay = 1e9

// early reports whether a fork at a time is that of q, whose first events came before it.
func (q *process) early(at int64) bool {
	return q.parent == nil && q != q.src.root && since(at, q.start) < forkDelay
}

// forked makes q, whose first events came before its fork, a child.
func (q *process) forked(parent *process, rec *posixtrace.Record) {
	if parent == nil {
		return
	}
	if !q.executed && q.program == nil {
		q.inherit(parent)
	}
	q.enter(parent, rec.UnixNano)
	if b := q.src.a.observer; b != nil {
		b.fork(q.src, q, parent, rec.TID)
	}
}

// gone is a process that has ended before its fork was recorded, if that follows.
type gone struct {
	key      uint64
	at       int64
	exit     posixtrace.ExitData
	measured bool // it executed a program, which is measured
}

// goneList has the latest of them.
type goneList struct {
	ring [16]gone
	n    int
}

func (l *goneList) add(g gone) {
	l.ring[l.n%len(l.ring)] = g
	l.n++
}

// take returns the process whose fork is recorded at a time, nil if it has not ended before.
func (l *goneList) take(key uint64, at int64) *gone {
	for i := range min(l.n, len(l.ring)) {
		if g := &l.ring[i]; g.key == key && g.at != 0 && since(at, g.at) < forkDelay {
			found := *g
			*g = gone{}
			return &found
		}
	}
	return nil
}
